import { keptSound } from './asking/kept.ts';

/** The alarm of a tab: a sound and, if the reader allows it, a desktop notification. */
export class Alarm {
  #sound: AudioContext | undefined;
  #raised: ReadonlySet<string> = new Set();

  get isOn(): boolean {
    return keptSound.get() === 'on';
  }

  get isDecided(): boolean {
    return keptSound.get() !== undefined;
  }

  /** After a reload, a browser allows sound only after a click. */
  get isReady(): boolean {
    return this.#sound?.state === 'running';
  }

  /** Call it in a click: a browser allows sound and notifications only then. */
  async switchTo(isOn: boolean): Promise<void> {
    keptSound.set(isOn ? 'on' : 'off');
    if (!isOn) return;
    await this.wake();
    this.#beep();
    if ('Notification' in window && Notification.permission === 'default') await Notification.requestPermission();
  }

  /** Makes the sound ready. Call it in a click. */
  async wake(): Promise<void> {
    if (!this.isOn) return;
    this.#sound ??= new AudioContext();
    if (this.#sound.state === 'suspended') await this.#sound.resume();
  }

  /** Sounds for every new reason. @param reasons id → words */
  tell(reasons: ReadonlyMap<string, string>): void {
    const added = [...reasons].filter(([id]) => !this.#raised.has(id)).map(([, words]) => words);
    this.#raised = new Set(reasons.keys());
    if (!this.isOn || added.length === 0) return;
    this.#beep();
    if (!('Notification' in window) || Notification.permission !== 'granted') return;
    try {
      const shown = new Notification('Camera activity', { body: added.join('\n'), requireInteraction: true });
      shown.addEventListener('click', () => window.focus());
    } catch (error) {
      // On Android only a service worker may show a notification.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  #beep(): void {
    const sound = this.#sound;
    if (sound?.state !== 'running') return;
    for (const after of [0, 0.3, 0.6]) {
      const [tone, volume] = [sound.createOscillator(), sound.createGain()];
      tone.frequency.value = 880;
      volume.gain.value = 0.3;
      tone.connect(volume).connect(sound.destination);
      tone.start(sound.currentTime + after);
      tone.stop(sound.currentTime + after + 0.2);
    }
  }
}
