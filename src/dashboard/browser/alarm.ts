import { keptSound } from './asking/kept.ts';

/** The alarm of a tab: a sound, and if it is allowed, a notification of the desktop. */
export class Alarm {
  #sound: AudioContext | undefined;
  #raised: ReadonlySet<string> = new Set();

  get isOn(): boolean {
    return keptSound.get() === 'on';
  }

  /** Somebody has said whether it shall sound. */
  get isDecided(): boolean {
    return keptSound.get() !== undefined;
  }

  /** Whether the browser would let it sound: after a reload it wants a click on the page first. */
  get isReady(): boolean {
    return this.#sound?.state === 'running';
  }

  /** Switches it; by hand, because a browser allows neither sound nor notifications otherwise. */
  async switchTo(isOn: boolean): Promise<void> {
    keptSound.set(isOn ? 'on' : 'off');
    if (!isOn) return;
    await this.wake();
    this.#beep();
    if ('Notification' in window && Notification.permission === 'default') await Notification.requestPermission();
  }

  /** Makes the sound ready, with a click on the page. */
  async wake(): Promise<void> {
    if (!this.isOn) return;
    this.#sound ??= new AudioContext();
    if (this.#sound.state === 'suspended') await this.#sound.resume();
  }

  /** Sounds for every reason that was not there before. @param reasons each by an id of its own, and in words */
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
      // On Android only a service worker may show one.
      if (!(error instanceof TypeError)) throw error;
    }
  }

  /** Three short tones. */
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
