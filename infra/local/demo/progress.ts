import { Presets, SingleBar } from 'cli-progress';

/** Shows how far something has come. */
export interface Progress {
  update(done: number): void;
  end(): void;
}

/**
 * A progress bar in a terminal; elsewhere a line for every tenth, so that a log file stays readable.
 *
 * @param what is being done, for the line
 * @param total how much there is to do, at least 1
 */
export const showProgress = (what: string, total: number): Progress =>
  process.stdout.isTTY ? barProgress(what, total) : lineProgress(what, total);

const barProgress = (what: string, total: number): Progress => {
  const bar = new SingleBar({ format: `${what} {bar} {value}/{total} ({eta} s left)` }, Presets.shades_classic);
  bar.start(total, 0);
  return { update: (done) => bar.update(done), end: () => bar.stop() };
};

const lineProgress = (what: string, total: number): Progress => {
  let tenths = 0;
  return {
    update: (done) => {
      const reached = Math.floor((done / total) * 10);
      if (reached > tenths) console.log(`${what} ${done}/${total}`);
      tenths = reached;
    },
    end: () => undefined,
  };
};
