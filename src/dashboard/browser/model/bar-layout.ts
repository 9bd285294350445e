/** Up to so many steps, bars are wide enough to be seen on a phone; more steps are drawn as stepped lines. */
const MOST_BAR_STEPS = 48;

/** How much of a step its bars fill. */
const FILLED = 0.78;

/** Whether so many steps are drawn as bars. */
export const drawnAsBars = (steps: number): boolean => steps <= MOST_BAR_STEPS;

/** Where the bars of one line are. */
export interface BarLayout {
  /** Seconds from the begin of a step to the begin of the bar. */
  readonly offset: number;
  /** Seconds. */
  readonly width: number;
}

/** The bars of a step stand side by side, one for each line, centred in the step. */
export const barLayout = (line: number, lines: number, stepSeconds: number): BarLayout => {
  const width = (stepSeconds * FILLED) / lines;
  return { offset: (stepSeconds * (1 - FILLED)) / 2 + line * width, width };
};
