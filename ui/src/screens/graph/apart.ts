/** Which names are drawn: none over another. */

export interface Named {
  x: number;
  y: number;
  size: number; // px, of what it names
  label: string;
}

export const ROW = 18; // px that a name takes from top to bottom

/** Those that do not lie over one before them. `width` measures a text. */
export function apart<T extends Named>(names: readonly T[], width: (text: string) => number): T[] {
  const rows = new Map<number, [number, number][]>();
  return names.filter(({ x, y, size, label }) => {
    const [left, right] = [x + size, x + size + 8 + width(label)];
    const row = Math.floor(y / ROW);
    const near = [row - 1, row, row + 1].flatMap((each) => rows.get(each) ?? []);
    if (near.some(([from, to]) => left < to && from < right)) return false;
    const own = rows.get(row);
    if (own) own.push([left, right]);
    else rows.set(row, [[left, right]]);
    return true;
  });
}
