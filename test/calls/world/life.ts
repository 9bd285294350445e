/** The life of a process. What a dead process awaits never comes. */
export class Life {
  #isOver = false;
  readonly #onEnd = new Set<() => void>();

  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    for (const tell of this.#onEnd) tell();
    this.#onEnd.clear();
  }

  /** What `doing` comes to, if the process lives to see it; otherwise never settles. */
  async during<Answer>(doing: Promise<Answer>): Promise<Answer> {
    try {
      const answer = await doing;
      return this.#isOver ? await never() : answer;
    } catch (error) {
      if (this.#isOver) return never();
      throw error;
    }
  }

  /** Calls `takeOver` once if the process ends before `doing` has settled. */
  async orElse(doing: Promise<unknown>, takeOver: () => void): Promise<void> {
    if (this.#isOver) {
      takeOver();
      return;
    }
    this.#onEnd.add(takeOver);
    await doing.finally(() => this.#onEnd.delete(takeOver));
  }
}

/** Never settles. */
export const never = (): Promise<never> => new Promise(() => undefined);
