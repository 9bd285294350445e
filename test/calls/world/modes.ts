/** Which faults there are, and by which rules people are called. Faults are probabilities where nothing else is said. */
export interface Mode {
  readonly name: string;
  /** That a request to storage, or its answer, is lost. */
  readonly rowFault: number;
  /** That a request to the line is lost, loses its answer or is rejected. */
  readonly lineFault: number;
  readonly eventLoss: number;
  readonly eventRepeat: number;
  /** That an event arrives seconds late, after later ones. */
  readonly eventDelay: number;
  /** How many instances die while people are called. Another one starts soon after. */
  readonly deaths: number;
  /** How many times storage cannot be used, for up to 40 s. */
  readonly outages: number;
  readonly instances: number;
  readonly attempts: number;
  readonly retryMs: number;
  readonly deadlineMs: number;
  readonly callsPerDay: number;
}

const USUAL: Mode = {
  name: 'line faults, deaths, repeated and late events',
  rowFault: 0,
  lineFault: 0.1,
  eventLoss: 0,
  eventRepeat: 0.2,
  eventDelay: 0.1,
  deaths: 4,
  outages: 0,
  instances: 3,
  attempts: 3,
  retryMs: 30_000,
  deadlineMs: 600_000,
  callsPerDay: 1_000,
};

/** The modes that every seed is played in. */
export const MODES: readonly Mode[] = [
  USUAL,
  { ...USUAL, name: 'repeated and late events only', lineFault: 0, deaths: 0 },
  { ...USUAL, name: 'storage faults too', rowFault: 0.03 },
  { ...USUAL, name: 'storage faults, without line faults and deaths', rowFault: 0.03, lineFault: 0, deaths: 0 },
  { ...USUAL, name: 'storage outages', outages: 2 },
  { ...USUAL, name: 'lost events', eventLoss: 0.15 },
  { ...USUAL, name: 'every fault', rowFault: 0.03, outages: 1, eventLoss: 0.1, deaths: 6 },
  { ...USUAL, name: 'one attempt, one minute', attempts: 1, retryMs: 5_000, deadlineMs: 60_000 },
  { ...USUAL, name: 'ten attempts', attempts: 10, retryMs: 5_000 },
  { ...USUAL, name: 'few calls a day', callsPerDay: 9, retryMs: 5_000 },
];
