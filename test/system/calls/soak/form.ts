import type { Pace } from '../../../../infra/local/acs-simulator/simulated-call.ts';

/** How long things take in a soak test, in milliseconds. */
export interface SoakForm {
  readonly pace: Partial<Pace>;
  /** From one kill to the next. */
  readonly killEveryMs: number;
  /** When the tables stop, in the test in which they do, and for how long. */
  readonly tablesStopAfterMs: number;
  readonly tablesStopForMs: number;
  /** In which everybody must have been reached, or not. */
  readonly withinMs: number;
}

const SHORT: SoakForm = {
  pace: { ringMs: 400, speakMs: 1_500 },
  killEveryMs: 4_000,
  tablesStopAfterMs: 8_000,
  tablesStopForMs: 8_000,
  withinMs: 420_000,
};

const LONG: SoakForm = {
  pace: { ringMs: 2_000, speakMs: 8_000 },
  killEveryMs: 10_000,
  tablesStopAfterMs: 35_000,
  tablesStopForMs: 20_000,
  withinMs: 1_200_000,
};

/** `SOAK=long` in the environment asks for the long form. */
export const soakForm = process.env['SOAK'] === 'long' ? LONG : SHORT;

/** `SOAK_SEED` in the environment: it decides the order of the numbers, who gets which callback, and who is killed. */
export const soakSeed = process.env['SOAK_SEED'] ?? 'soak';
