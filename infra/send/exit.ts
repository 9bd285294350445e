/** The exit codes of `npm run send`. */
export const EXIT = { recorded: 0, rejected: 1, usage: 2, stopped: 3, insisted: 130 } as const;
