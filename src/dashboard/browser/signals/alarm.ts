import { keptSound } from '../asking/kept.ts';
import type { Reason } from '../model/alarm-rule.ts';

/** Frequencies (Hz) of the tones of a signal, one after the other. */
const TONES: Readonly<Record<Reason['tone'], readonly number[]>> = {
  alarm: [880, 880, 880],
  drill: [440, 330],
};

/** The sound of a tab and, if the reader allows them, its desktop notifications. */
export class Alarm {
  #sound: AudioContext | undefined;

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
    if ('Notification' in window && Notification.permission === 'default') void Notification.requestPermission();
  }

  /** Makes the sound ready. Call it in a click, or to try whether the browser allows it without one. */
  async wake(): Promise<void> {
    if (!this.isOn || !('AudioContext' in window)) return;
    this.#sound ??= new AudioContext();
    // A phone call interrupts the sound. Without a click, some browsers never answer.
    if (this.#sound.state !== 'running') await Promise.race([this.#sound.resume(), pause(500)]);
  }

  /** @returns whether it sounded: the browser may block it */
  sound(tone: Reason['tone']): boolean {
    const sound = this.#sound;
    if (!this.isOn || sound?.state !== 'running') return false;
    for (const [index, frequency] of TONES[tone].entries()) {
      const [source, volume] = [sound.createOscillator(), sound.createGain()];
      source.frequency.value = frequency;
      volume.gain.value = 0.3;
      source.connect(volume).connect(sound.destination);
      source.start(sound.currentTime + index * 0.3);
      source.stop(sound.currentTime + index * 0.3 + 0.2);
    }
    return true;
  }

  /** Shows a desktop notification, if the reader allowed them. */
  show(reasons: readonly Reason[]): void {
    if (!this.isOn || reasons.length === 0) return;
    if (!('Notification' in window) || Notification.permission !== 'granted') return;
    try {
      const body = reasons.map(({ words }) => words).join('\n');
      const shown = new Notification('Camera activity', { body, requireInteraction: true });
      shown.addEventListener('click', () => window.focus());
    } catch (error) {
      // On Android only a service worker may show a notification.
      if (!(error instanceof TypeError)) throw error;
    }
  }
}

const pause = async (milliseconds: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
