/** Keeps the screen of a wall awake while its tab is visible. */
export class WakeLock {
  #held: WakeLockSentinel | undefined;
  #isRefused = false;

  /** The browser does not keep the screen awake: it may go to sleep. */
  get isRefused(): boolean {
    return this.#isRefused;
  }

  /** A browser ends the lock whenever the tab is hidden: call it again when the tab is visible. */
  async keepAwake(): Promise<void> {
    if (document.hidden || this.#held?.released === false) return;
    try {
      this.#held = await navigator.wakeLock.request('screen');
      this.#isRefused = false;
    } catch (error) {
      // Without https there is no lock (TypeError). Low battery or a policy: DOMException.
      if (!(error instanceof TypeError || error instanceof DOMException)) throw error;
      this.#isRefused = true;
    }
  }

  async end(): Promise<void> {
    await this.#held?.release();
  }
}
