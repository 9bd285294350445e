/** What happened while a seed was played, a line each, with the virtual time in seconds. */
export class Story {
  readonly #startedAt = Date.now();
  readonly #lines: string[] = [];

  tell(line: string): void {
    this.#lines.push(`${((Date.now() - this.#startedAt) / 1000).toFixed(2)} ${line}`);
  }

  get text(): string {
    return this.#lines.join('\n');
  }
}
