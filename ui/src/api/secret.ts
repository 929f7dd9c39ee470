/** The access token of this browser: for this tab, or until it is forgotten. */
const KEY = "nephila.token";

export function secret(): string | null {
  return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
}

export function keepSecret(value: string, remember: boolean): void {
  forgetSecret();
  (remember ? localStorage : sessionStorage).setItem(KEY, value);
}

export function forgetSecret(): void {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
}
