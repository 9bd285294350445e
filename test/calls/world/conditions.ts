import type { Mode } from './modes.ts';
import type { Chance } from './random.ts';

const OUTAGES_BEGIN_WITHIN_MS = 300_000;
const SHORTEST_OUTAGE_MS = 500;
const LONGEST_OUTAGE_MS = 40_000;

type Faults = Pick<Mode, 'rowFault' | 'lineFault' | 'eventLoss' | 'eventRepeat' | 'eventDelay'>;

const NO_FAULTS: Faults = { rowFault: 0, lineFault: 0, eventLoss: 0, eventRepeat: 0, eventDelay: 0 };

/** The faults of the moment: those of the mode at first, none once it is calm. */
export class Conditions {
  readonly #outages: readonly { readonly from: number; readonly until: number }[];
  #faults: Faults;
  #isCalm = false;

  constructor(mode: Mode, chance: Chance) {
    this.#faults = mode;
    this.#outages = Array.from({ length: mode.outages }, () => {
      const from = Date.now() + chance.between(0, OUTAGES_BEGIN_WITHIN_MS);
      return { from, until: from + chance.between(SHORTEST_OUTAGE_MS, LONGEST_OUTAGE_MS) };
    });
  }

  get faults(): Faults {
    return this.#faults;
  }

  /** Whether storage cannot be used now. */
  get isOutage(): boolean {
    const now = Date.now();
    return !this.#isCalm && this.#outages.some(({ from, until }) => now >= from && now < until);
  }

  /** Ends all faults. */
  calmDown(): void {
    this.#isCalm = true;
    this.#faults = NO_FAULTS;
  }
}
