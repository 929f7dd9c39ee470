/**
 * The link graph by forces (ForceAtlas2). It begins with communities apart, and rests when hardly anything moves. What
 * has come to rest is held: new nodes find their place among it. `tidy` lets everything go once more.
 */
import iterate from "graphology-layout-forceatlas2/iterate.js";
import type { Batch, Layout, Lines } from "./protocol";
import { seeds } from "./seeds";

const NODE = 10; // numbers a node has in the matrix of the algorithm
const EDGE = 3;
const [X, Y, MASS, CONVERGENCE, SIZE, FIXED] = [0, 1, 6, 7, 8, 9] as const;

const SPACE = 12; // between nodes at the beginning: about what the forces make of it
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const ACROSS = 0.25; // a link between communities pulls less, so that they stay apart
const BARNES_HUT = 2000;
const STILL = 1e-3; // mean movement in a step, of the size of the picture
const STILL_STEPS = 5;
const COOLING = 60; // steps after which movements are halved

/** The most steps of a layout: it ends even if it does not settle. */
export function stepsMax(order: number): number {
  if (order > 20_000) return 120;
  return order > BARNES_HUT ? 300 : 500;
}

export class Force implements Layout {
  settled = true;
  order = 0;
  private matrix = new Float32Array(0);
  private edges = new Float32Array(0);
  private communities: number[] = [];
  private readonly beside: number[] = []; // new nodes that were put near each one
  private free = 0;
  private steps = 0;
  private still = 0;
  private scale = 1;

  add({ parents, communities, known }: Batch): void {
    if (!parents.length) return;
    const first = this.order;
    const start = known ? null : first === 0 ? seeds(communities, SPACE) : null;
    this.grow(parents.length);
    for (const community of communities) this.communities.push(community);
    for (let place = 0; place < parents.length; place++) {
      const slot = first + place;
      const x = known?.[2 * place] ?? Number.NaN;
      const y = known?.[2 * place + 1] ?? Number.NaN;
      if (start) this.put(slot, start[2 * place] ?? 0, start[2 * place + 1] ?? 0);
      else if (Number.isNaN(x)) this.near(slot, parents[place] ?? -1);
      else this.put(slot, x / this.scale, y / this.scale, true);
    }
    this.wake();
  }

  /** Replaces all edges. */
  link({ pairs, weights }: Lines): void {
    const before = this.edges.length;
    this.edges = new Float32Array((pairs.length / 2) * EDGE);
    for (let slot = 0; slot < this.order; slot++) this.matrix[slot * NODE + MASS] = 1;
    for (let edge = 0; edge < pairs.length / 2; edge++) {
      const [from, to] = [pairs[2 * edge] ?? 0, pairs[2 * edge + 1] ?? 0];
      const weight =
        Math.log2(1 + (weights[edge] ?? 1)) * (this.communities[from] === this.communities[to] ? 1 : ACROSS);
      this.edges.set([from * NODE, to * NODE, weight], edge * EDGE);
      this.matrix[from * NODE + MASS] = (this.matrix[from * NODE + MASS] ?? 1) + weight;
      this.matrix[to * NODE + MASS] = (this.matrix[to * NODE + MASS] ?? 1) + weight;
    }
    if (this.edges.length !== before) this.wake();
  }

  tidy(): void {
    for (let slot = 0; slot < this.order; slot++) {
      this.matrix[slot * NODE + FIXED] = 0;
      this.matrix[slot * NODE + CONVERGENCE] = 1;
    }
    this.wake();
  }

  step(): void {
    if (this.settled) return;
    const before = this.matrix.slice();
    iterate(this.settings(), this.matrix, this.edges);
    this.steps += 1;
    if (this.free === this.order) this.normalise();
    this.still = this.moved(before) < STILL * this.size() ? this.still + 1 : 0;
    if (this.still >= STILL_STEPS || this.steps >= this.limit()) this.rest();
  }

  places(): Float32Array {
    const places = new Float32Array(2 * this.order);
    for (let slot = 0; slot < this.order; slot++) {
      places[2 * slot] = (this.matrix[slot * NODE + X] ?? 0) * this.scale;
      places[2 * slot + 1] = (this.matrix[slot * NODE + Y] ?? 0) * this.scale;
    }
    return places;
  }

  private settings() {
    return {
      linLogMode: false,
      adjustSizes: false,
      outboundAttractionDistribution: true,
      strongGravityMode: true,
      gravity: 0.05,
      scalingRatio: 10,
      edgeWeightInfluence: 1,
      barnesHutOptimize: this.order > BARNES_HUT,
      barnesHutTheta: 1.2,
      slowDown: (1 + Math.log(this.order + 1)) * (1 + this.steps / COOLING),
    };
  }

  private limit(): number {
    // A few new nodes among many that are held are soon in place, and every step costs as much as with all of them.
    return this.free < this.order / 10 ? stepsMax(this.order) / 4 : stepsMax(this.order);
  }

  private wake(): void {
    this.free = 0;
    for (let slot = 0; slot < this.order; slot++) if (this.matrix[slot * NODE + FIXED] !== 1) this.free += 1;
    this.steps = 0;
    this.still = 0;
    this.settled = this.free === 0;
    if (this.free === this.order && this.scale === 1) this.normalise();
  }

  private rest(): void {
    this.settled = true;
    this.free = 0;
    for (let slot = 0; slot < this.order; slot++) this.matrix[slot * NODE + FIXED] = 1;
  }

  private grow(more: number): void {
    const wider = new Float32Array((this.order + more) * NODE);
    wider.set(this.matrix);
    this.matrix = wider;
    this.order += more;
  }

  private put(slot: number, x: number, y: number, fixed = false): void {
    const at = slot * NODE;
    this.matrix[at + X] = x;
    this.matrix[at + Y] = y;
    this.matrix[at + MASS] = 1;
    this.matrix[at + CONVERGENCE] = 1;
    this.matrix[at + SIZE] = 1;
    this.matrix[at + FIXED] = fixed ? 1 : 0;
  }

  /** Beside its parent, or else beside one of its community: the more stand there already, the farther out. */
  private near(slot: number, parent: number): void {
    const anchor =
      parent >= 0 && parent < slot ? parent : this.communities.lastIndexOf(this.communities[slot] ?? -1, slot - 1);
    const others = anchor < 0 ? slot : (this.beside[anchor] ?? 0);
    if (anchor >= 0) this.beside[anchor] = others + 1;
    const radius = (SPACE / 2) * Math.sqrt(others + 1);
    const angle = slot * GOLDEN;
    const x = anchor < 0 ? 0 : (this.matrix[anchor * NODE + X] ?? 0);
    const y = anchor < 0 ? 0 : (this.matrix[anchor * NODE + Y] ?? 0);
    this.put(slot, x + radius * Math.cos(angle), y + radius * Math.sin(angle));
  }

  private size(): number {
    let sum = 0;
    for (let slot = 0; slot < this.order; slot++) {
      sum += (this.matrix[slot * NODE + X] ?? 0) ** 2 + (this.matrix[slot * NODE + Y] ?? 0) ** 2;
    }
    return Math.sqrt(sum / Math.max(1, this.order));
  }

  /** The forces blow a graph up or pull it together; the picture keeps its size meanwhile, so the camera can rest. */
  private normalise(): void {
    const size = this.size();
    this.scale = size > 0 ? (SPACE * Math.sqrt(this.order)) / size : 1;
  }

  private moved(before: Float32Array): number {
    let sum = 0;
    for (let slot = 0; slot < this.order; slot++) {
      const at = slot * NODE;
      if (this.matrix[at + FIXED] === 1) continue;
      sum += Math.hypot(
        (this.matrix[at + X] ?? 0) - (before[at + X] ?? 0),
        (this.matrix[at + Y] ?? 0) - (before[at + Y] ?? 0),
      );
    }
    return sum / Math.max(1, this.free);
  }
}
