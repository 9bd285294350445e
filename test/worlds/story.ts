/** What happened while a seed was played, a line each, with the virtual time in seconds. */
export class Story {
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #lines: string[] = [];

  /** @param now in milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = now();
  }

  tell(line: string): void {
    this.#lines.push(`${((this.#now() - this.#startedAt) / 1000).toFixed(2)} ${line}`);
  }

  get text(): string {
    return this.#lines.join('\n');
  }
}
