/** A part of a local run; those in processes of their own can be lost and killed. */
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
  /** Fulfils with the reason when a part ends that nobody asked to. */
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

  /** The last one started is the first one stopped. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const part of this.#parts.toReversed()) await part.stop();
  }

  kill(): void {
    this.#isStopping = true;
    for (const part of this.#parts) part.kill?.();
  }
}
