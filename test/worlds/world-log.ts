/** The events of a seed, a line each, with the virtual time in seconds. */
export class WorldLog {
  readonly #now: () => number;
  /** Whether the lines are wanted: few seeds are read. */
  readonly #isLogged: boolean;
  readonly #startedAt: number;
  readonly #lines: string[] = [];

  /** @param now in milliseconds since 1970, by a clock that is right */
  constructor(now: () => number, isLogged: boolean) {
    this.#now = now;
    this.#startedAt = now();
    this.#isLogged = isLogged;
  }

  add(line: () => string): void {
    if (this.#isLogged) this.#lines.push(`${((this.#now() - this.#startedAt) / 1000).toFixed(3)} ${line()}`);
  }

  get text(): string {
    return this.#lines.join('\n');
  }
}
