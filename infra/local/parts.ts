/** A part of a local run. Only a part in a process of its own has `kill` and `exited`. */
export interface Part {
  stop(): Promise<void>;
  kill?(): void;
  readonly exited?: Promise<string>;
}

/** The parts of a local run that have been started so far. */
export class Parts {
  readonly #parts: Part[] = [];
  #isStopping = false;
  #lose: (reason: string) => void = () => undefined;
  /** Fulfils with the reason when a part ends that was not stopped. */
  readonly lost = new Promise<string>((resolve) => {
    this.#lose = resolve;
  });

  add<Started extends Part>(part: Started): Started {
    this.#parts.push(part);
    void part.exited?.then((reason) => {
      if (!this.#isStopping) this.#lose(reason);
    });
    return part;
  }

  /** Stops the parts in the reverse order of their start. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const part of this.#parts.toReversed()) await part.stop();
  }

  kill(): void {
    this.#isStopping = true;
    for (const part of this.#parts) part.kill?.();
  }
}
