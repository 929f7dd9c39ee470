// A web of many TLS hosts on loopback, with a DNS server for their names, for bench/broad.py.
//
// Every host has the same number of pages, made of real HTML files whose links are turned to pages of their own host.
// Hosts answer after a latency of their own, log-normal around a median; some are slow, some never answer.
// Says where it listens in one line of JSON, and what it has seen in another when its standard input ends.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log"
	"math"
	"math/big"
	mathrand "math/rand"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	domain     = ".broad.test"
	filesMax   = 1500    // HTML files that pages are made of
	fileMax    = 400_000 // bytes
	slowTimes  = 4       // the latency of a slow host over what it would be
	spread     = 0.5     // of the logarithm of a host's latency
	jitter     = 0.2     // of the logarithm of one answer's latency
	hangs      = time.Minute
	recordTTL  = 300
	addressesN = 250 // 127.20.0.1 and so on: each has ports of its own for its clients
)

var href = regexp.MustCompile(`(?i)(?:href|src)\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)`)

type web struct {
	hosts, pages      int
	median            time.Duration
	slow, dead        float64
	bodies            [][]byte
	requests, resumed atomic.Int64
	handshakes, conns atomic.Int64
	questions         atomic.Int64
}

func main() {
	root := flag.String("root", "", "folder of HTML files")
	hosts := flag.Int("hosts", 2000, "names h0"+domain+" and so on")
	pages := flag.Int("pages", 20, "pages of each host")
	latency := flag.Int("latency", 300, "median in ms; 0: none")
	slow := flag.Float64("slow", 0.05, "share of hosts that are slow")
	dead := flag.Float64("dead", 0.01, "share of hosts that never answer")
	http2 := flag.Bool("http2", true, "offer HTTP/2")
	ca := flag.String("ca", "", "file to write the certificate to")
	flag.Parse()

	w := &web{hosts: *hosts, pages: *pages, slow: *slow, dead: *dead, bodies: bodiesOf(*root, *pages)}
	w.median = time.Duration(*latency) * time.Millisecond
	if w.median == 0 {
		w.slow, w.dead = 0, 0
	}
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	must(err)
	names, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(err)
	go w.answerNames(names)
	config := &tls.Config{Certificates: []tls.Certificate{certificate(*ca)}, GetConfigForClient: w.greet, VerifyConnection: w.shaken}
	config.NextProtos = []string{"http/1.1"}
	if *http2 {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	server := &http.Server{Handler: w, TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0)}
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.conns.Add(1)
		}
	}
	go func() { must(server.ServeTLS(listener, "", "")) }()
	port := listener.Addr().(*net.TCPAddr).Port
	say(map[string]any{"port": port, "dns": names.LocalAddr().String(), "files": len(w.bodies)})
	io.Copy(io.Discard, os.Stdin)
	say(map[string]any{
		"requests": w.requests.Load(), "connections": w.conns.Load(), "handshakes": w.handshakes.Load(),
		"resumed": w.resumed.Load(), "questions": w.questions.Load(),
	})
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func say(what map[string]any) {
	line, err := json.Marshal(what)
	must(err)
	fmt.Println(string(line))
}

// --- pages

func bodiesOf(root string, pages int) [][]byte {
	var paths []string
	must(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".html") {
			paths = append(paths, path)
		}
		return err
	}))
	mathrand.New(mathrand.NewSource(1)).Shuffle(len(paths), func(a, b int) { paths[a], paths[b] = paths[b], paths[a] })
	var bodies [][]byte
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err == nil && len(raw) < fileMax && len(bodies) < filesMax {
			bodies = append(bodies, turned(raw, pages))
		}
	}
	if len(bodies) == 0 {
		must(errors.New("no HTML files in " + root))
	}
	return bodies
}

// turned leads each link to a page of the same host, and adds links to all of them.
func turned(raw []byte, pages int) []byte {
	body := href.ReplaceAllFunc(raw, func(found []byte) []byte {
		return fmt.Appendf(nil, `href="/p/%d"`, sum(string(found))%uint64(pages))
	})
	for page := range pages {
		body = fmt.Appendf(body, "<a href=/p/%d>%d</a>\n", page, page)
	}
	return body
}

func sum(text string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return hash.Sum64()
}

func (w *web) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	w.requests.Add(1)
	number, known := w.number(request.Host)
	if !known {
		http.NotFound(out, request)
		return
	}
	if w.median > 0 {
		time.Sleep(w.latency(number))
	}
	if request.URL.Path == "/robots.txt" {
		io.WriteString(out, "User-agent: *\nDisallow: /private/\n")
		return
	}
	page, err := strconv.Atoi(strings.TrimPrefix(request.URL.Path, "/p/"))
	if err != nil || page < 0 || page >= w.pages {
		http.NotFound(out, request)
		return
	}
	body := w.bodies[(number*w.pages+page)%len(w.bodies)]
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	out.Header().Set("Content-Length", strconv.Itoa(len(body)))
	out.Write(body)
}

// number of a host by its name, with or without a port.
func (w *web) number(host string) (int, bool) {
	name, _, _ := strings.Cut(host, ":")
	digits, found := strings.CutSuffix(name, domain)
	number, err := strconv.Atoi(strings.TrimPrefix(digits, "h"))
	return number, found && err == nil && number < w.hosts
}

func (w *web) latency(number int) time.Duration {
	own := mathrand.New(mathrand.NewSource(int64(number)))
	exponent := own.NormFloat64()*spread + mathrand.NormFloat64()*jitter
	times := 1.0
	if own.Float64() < w.slow {
		times = slowTimes
	}
	return time.Duration(float64(w.median) * times * math.Exp(exponent))
}

func (w *web) isDead(number int) bool {
	return float64(sum(strconv.Itoa(number))%10_000) < w.dead*10_000
}

// --- TLS

func (w *web) greet(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	number, _ := w.number(hello.ServerName)
	if w.isDead(number) {
		if number%2 == 0 {
			time.Sleep(hangs)
		}
		return nil, errors.New("dead")
	}
	return nil, nil
}

func (w *web) shaken(state tls.ConnectionState) error {
	w.handshakes.Add(1)
	if state.DidResume {
		w.resumed.Add(1)
	}
	return nil
}

func certificate(path string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "bench"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"*" + domain},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(err)
	must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o644))
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// --- names

// answerNames answers A with an address of loopback, anything else of a known name with nothing, other names with NXDOMAIN.
func (w *web) answerNames(socket net.PacketConn) {
	buffer := make([]byte, 1500)
	for {
		size, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return
		}
		if answer := w.answerName(buffer[:size]); answer != nil {
			socket.WriteTo(answer, from)
		}
	}
}

func (w *web) answerName(question []byte) []byte {
	if len(question) < 17 {
		return nil
	}
	w.questions.Add(1)
	var labels []string
	at := 12
	for at < len(question) && question[at] != 0 {
		end := at + 1 + int(question[at])
		if end >= len(question) {
			return nil
		}
		labels = append(labels, string(question[at+1:end]))
		at = end
	}
	end := at + 5
	if end > len(question) {
		return nil
	}
	kind := binary.BigEndian.Uint16(question[at+1:])
	number, known := w.number(strings.ToLower(strings.Join(labels, ".")))
	answer := append([]byte{}, question[:end]...)
	binary.BigEndian.PutUint16(answer[2:], 0x8580) // an answer with authority, recursion available
	binary.BigEndian.PutUint16(answer[4:], 1)
	copy(answer[6:12], make([]byte, 6))
	if !known {
		answer[3] |= 3
		return answer
	}
	if kind == 1 {
		binary.BigEndian.PutUint16(answer[6:], 1)
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1)
		answer = binary.BigEndian.AppendUint32(answer, recordTTL)
		answer = append(answer, 0, 4, 127, 20, 0, byte(1+number%addressesN))
	}
	return answer
}
