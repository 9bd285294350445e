import { Presets, SingleBar } from 'cli-progress';

/** Shows on stderr how far a command has come; standard output is for the result. */
export interface Display {
  /** `what` is being done, and so many rows of `total` are through; 0 where the total is not known yet. */
  update(what: string, rows: number, total: number): void;
  /** Ends what is shown. */
  end(): void;
}

/** Where there is no terminal: a line at most so often, in milliseconds. */
const LINE_EVERY_MS = 5_000;

const number = (value: number): string => value.toLocaleString('en-GB');

/** A progress bar in a terminal; lines elsewhere, so that a log file stays readable. */
export const makeDisplay = (): Display => (process.stderr.isTTY ? barDisplay() : lineDisplay());

const lineDisplay = (): Display => {
  let nextLineAt = Date.now() + LINE_EVERY_MS;
  return {
    update: (what, rows, total) => {
      if (Date.now() < nextLineAt) return;
      nextLineAt = Date.now() + LINE_EVERY_MS;
      console.error(`${what}: ${number(rows)}${total === 0 ? '' : ` of ${number(total)}`} rows`);
    },
    end: () => undefined,
  };
};

const barDisplay = (): Display => {
  const bar = new SingleBar(
    { format: '{what} {bar} {rows} rows', clearOnComplete: true, hideCursor: true },
    Presets.shades_classic,
  );
  let isShown = false;
  return {
    update: (what, rows, total) => {
      // Of a first reading the end is not known: the bar is full, the number goes on.
      const most = Math.max(total, rows, 1);
      const payload = { what, rows: number(rows) };
      if (isShown) {
        bar.setTotal(most);
        bar.update(rows, payload);
      } else bar.start(most, rows, payload);
      isShown = true;
    },
    end: () => {
      if (isShown) bar.stop();
      isShown = false;
    },
  };
};
