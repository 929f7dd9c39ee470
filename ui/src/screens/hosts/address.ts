/** Hosts have ports and brackets: "[::1]:8080". */
export const hostPath = (host: string): string => `/hosts/${encodeURIComponent(host)}`;
