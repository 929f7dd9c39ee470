/** The pages in which a list that grows at its end was read, kept so that some of them can be read again. */

export interface Chunk {
  after: number; // what to ask for
  last: number; // the last id in it
  count: number; // nodes that came from it
  stale: boolean; // something in it may have changed since
  over: boolean; // it was read when the crawl was over: nothing in it changes any more
}

export class Chunks {
  readonly list: Chunk[] = [];
  private turn = 0;

  constructor(private readonly size: number) {}

  /** What came after the end; small answers share a chunk, so that reading them again is one request. */
  grow(after: number, last: number, count: number, over: boolean): number {
    const end = this.list.at(-1);
    if (end && end.count + count <= this.size) {
      end.last = last;
      end.count += count;
      end.over &&= over;
    } else {
      this.list.push({ after, last, count, stale: false, over });
    }
    return this.list.length - 1;
  }

  /** One that was read again did not reach its end: the rest is one of its own. */
  cut(place: number, at: number): void {
    const chunk = this.list[place];
    if (!chunk || at >= chunk.last) return;
    this.list.splice(place + 1, 0, { ...chunk, after: at, count: 0 });
    chunk.last = at;
  }

  placeOf(id: number): number {
    let low = 0;
    let high = this.list.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const chunk = this.list[middle];
      if (!chunk) break;
      if (id <= chunk.after) high = middle - 1;
      else if (id > chunk.last) low = middle + 1;
      else return middle;
    }
    return -1;
  }

  /** Those to read again, at most `most`, in rotation, so that each has its turn. */
  due(most: number, wanted: (chunk: Chunk, place: number) => boolean): number[] {
    const places: number[] = [];
    const all = this.list.length;
    for (let step = 0; step < all && places.length < most; step++) {
      const place = (this.turn + step) % all;
      const chunk = this.list[place];
      if (chunk && wanted(chunk, place)) places.push(place);
    }
    const last = places.at(-1);
    if (last !== undefined) this.turn = (last + 1) % all;
    return places;
  }
}
