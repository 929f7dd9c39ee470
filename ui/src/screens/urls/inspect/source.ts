/** A long text in pieces that a browser can show: only some lines at a time, and no endless ones. */

export interface Piece {
  at: number; // among all pieces
  line: number | null; // null: the line before goes on
  text: string;
}

export const PIECES_AT_ONCE = 500;
const PIECE_CHARS_MAX = 2000;
const BEFORE_A_FIND = 20;
const FINDS_MAX = 10_000;

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  text.split(/\r\n|\r|\n/).forEach((line, at) => {
    pieces.push({ at: pieces.length, line: at + 1, text: line.slice(0, PIECE_CHARS_MAX) });
    for (let from = PIECE_CHARS_MAX; from < line.length; from += PIECE_CHARS_MAX) {
      pieces.push({ at: pieces.length, line: null, text: line.slice(from, from + PIECE_CHARS_MAX) });
    }
  });
  return pieces;
}

/** The pieces that have it, upper or lower case alike. */
export function findIn(pieces: readonly Piece[], wanted: string): number[] {
  if (!wanted) return [];
  const lower = wanted.toLowerCase();
  const found: number[] = [];
  for (let at = 0; at < pieces.length && found.length < FINDS_MAX; at++) {
    if (pieces[at]?.text.toLowerCase().includes(lower)) found.push(at);
  }
  return found;
}

export interface Stretch {
  at: number; // where it begins
  text: string;
  found: boolean;
}

/** The whole text in stretches, those that were looked for among them. */
export function marked(text: string, wanted: string): Stretch[] {
  const [lower, word] = [text.toLowerCase(), wanted.toLowerCase()];
  const stretches: Stretch[] = [];
  const add = (at: number, end: number, found: boolean) => {
    if (end > at) stretches.push({ at, text: text.slice(at, end), found });
  };
  let from = 0;
  // Where lower case has another length the places would not fit.
  if (word && lower.length === text.length) {
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, from)) {
      add(from, at, false);
      from = at + word.length;
      add(at, from, true);
    }
  }
  add(from, text.length, false);
  return stretches;
}

export interface Range {
  from: number;
  to: number; // not included
}

export const START: Range = { from: 0, to: PIECES_AT_ONCE };

/** As it is if the piece is in it, else a new one around it. */
export function rangeWith(range: Range, piece: number): Range {
  if (piece >= range.from && piece < range.to) return range;
  const from = Math.max(piece - BEFORE_A_FIND, 0);
  return { from, to: from + PIECES_AT_ONCE };
}

export const later = ({ from, to }: Range): Range => ({ from, to: to + PIECES_AT_ONCE });
export const earlier = ({ from, to }: Range): Range => ({ from: Math.max(from - PIECES_AT_ONCE, 0), to });

/** The next find in either direction, around the ends. */
export function stepped(at: number, step: number, all: number): number {
  return all ? (at + step + all) % all : 0;
}
