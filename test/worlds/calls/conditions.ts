import type { Chance } from '../chance.ts';
import { FAIR, type TableConditions, type Weather } from '../unreliable-table.ts';
import { CALM, type Mode } from './modes.ts';

const BEGIN_WITHIN_MS = 300_000;
const OUTAGE_MS = [500, 40_000] as const;
const SET_UP_FAULT_MS = [5_000, 240_000] as const;

interface Span {
  readonly from: number;
  readonly until: number;
}

const weatherOf = ({ tableFaults }: Mode): Weather => ({
  ...FAIR,
  lostRequest: tableFaults / 6,
  lostAnswer: tableFaults / 6,
  hung: tableFaults / 3,
  refused: tableFaults / 3,
});

/** The faults of the moment: those of the mode at first, none once it is calm. */
export class Conditions {
  readonly #now: () => number;
  /** When our credential is wrong. */
  readonly setUpFaults: Span[];
  readonly #outages: Span[];
  #faults: Mode;
  #weather: Weather;
  #isCalm = false;

  /** @param now in milliseconds since 1970 */
  constructor(mode: Mode, chance: Chance, now: () => number) {
    this.#now = now;
    this.#faults = mode;
    this.#weather = weatherOf(mode);
    const spans = (count: number, lengthMs: readonly [number, number]): Span[] =>
      Array.from({ length: count }, () => {
        const from = now() + chance.between(0, BEGIN_WITHIN_MS);
        return { from, until: from + chance.between(...lengthMs) };
      });
    this.#outages = spans(mode.outages, OUTAGE_MS);
    this.setUpFaults = spans(mode.setUpFaults, SET_UP_FAULT_MS);
  }

  get faults(): Mode {
    return this.#faults;
  }

  get table(): TableConditions {
    return { weather: this.#weather, isOutage: this.isOutage };
  }

  /** Whether storage cannot be used now. */
  get isOutage(): boolean {
    return !this.#isCalm && this.#isIn(this.#outages);
  }

  get isSetUpWrong(): boolean {
    return !this.#isCalm && this.#isIn(this.setUpFaults);
  }

  /** Our credential is wrong from now on, for so long. */
  breakSetUp(ms: number): void {
    this.setUpFaults.push({ from: this.#now(), until: this.#now() + ms });
  }

  /** Storage cannot be used from now on, for so long. */
  stopTable(ms: number): void {
    this.#outages.push({ from: this.#now(), until: this.#now() + ms });
  }

  /** Ends all faults. */
  calmDown(): void {
    this.#isCalm = true;
    this.#faults = { ...this.#faults, ...CALM };
    this.#weather = FAIR;
  }

  #isIn(spans: readonly Span[]): boolean {
    const now = this.#now();
    return spans.some(({ from, until }) => now >= from && now < until);
  }
}
