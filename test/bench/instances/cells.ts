/** One setting of a load on several instances of the app. */
export interface Cell {
  readonly instances: number;
  /** Round trip between an instance and the tables, added to what Azurite takes, in milliseconds. */
  readonly delayMs: number;
  /** Of all instances together. */
  readonly eventsPerSecond: number;
  readonly eventsPerRequest: number;
}

const INSTANCES = [1, 2, 4, 8] as const;

/** A normal day of the largest camera network, and the top of the field. */
const [NORMAL, TOP] = [25, 210] as const;

const cell = (instances: number, delayMs: number, eventsPerSecond: number, eventsPerRequest: number): Cell => ({
  instances,
  delayMs,
  eventsPerSecond,
  eventsPerRequest,
});

/** All settings. */
export const FULL: readonly Cell[] = INSTANCES.flatMap((instances) =>
  [0, 10].flatMap((delayMs) =>
    [NORMAL, TOP].flatMap((rate) => [1, 10].map((size) => cell(instances, delayMs, rate, size))),
  ),
);

/** The settings that are hardest for several instances, and one of each other kind. */
export const SHORT: readonly Cell[] = [
  ...INSTANCES.map((instances) => cell(instances, 10, TOP, 1)),
  cell(2, 10, NORMAL, 1),
  cell(8, 10, NORMAL, 1),
  cell(8, 10, TOP, 10),
  cell(8, 0, TOP, 1),
];

/** One instance with the load that each instance of a setting has. */
export const aloneOf = ({ instances, eventsPerSecond, ...rest }: Cell): Cell => ({
  ...rest,
  instances: 1,
  eventsPerSecond: eventsPerSecond / instances,
});

/** A setting in words; no two settings have the same. */
export const describeCell = ({ instances, delayMs, eventsPerSecond, eventsPerRequest }: Cell): string =>
  `${instances} instance${instances === 1 ? '' : 's'}, ${delayMs} ms, ${eventsPerSecond} events/s, ${eventsPerRequest} a request`;
