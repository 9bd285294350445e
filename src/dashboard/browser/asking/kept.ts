import type { ClockOf } from '../model/times.ts';

const KEY_STORED_AS = 'wildfire-camera-activity.function-key';
const CLOCK_STORED_AS = 'wildfire-camera-activity.clock';
const NAME_STORED_AS = 'wildfire-camera-activity.name';

/** Whether a text can be sent as a key at all: a header takes visible ASCII only. */
export const canBeKey = (text: string): boolean => /^[\x21-\x7e]{1,512}$/.test(text);

/**
 * The function key, for the browser session only: never in an address, a cookie or anything that outlives the tab. Where the
 * browser allows no session storage, for as long as the page is open.
 */
export class SessionKey {
  #key: string | undefined = readStoredKey();

  get(): string | undefined {
    return this.#key;
  }

  set(key: string): void {
    this.#key = key;
    tryStorage(() => sessionStorage.setItem(KEY_STORED_AS, key));
  }

  forget(): void {
    this.#key = undefined;
    tryStorage(() => sessionStorage.removeItem(KEY_STORED_AS));
  }
}

const readStoredKey = (): string | undefined => {
  const key = tryStorage(() => sessionStorage.getItem(KEY_STORED_AS)) ?? undefined;
  return key !== undefined && canBeKey(key) ? key : undefined;
};

/** Whose clock this browser was last told to show. */
export const keptClock = (): ClockOf =>
  tryStorage(() => localStorage.getItem(CLOCK_STORED_AS)) === 'utc' ? 'utc' : 'local';

/** Keeps that for pages to come; local is what a browser shows that was never told. */
export const keepClock = (clock: ClockOf): void =>
  tryStorage(() =>
    clock === 'utc' ? localStorage.setItem(CLOCK_STORED_AS, clock) : localStorage.removeItem(CLOCK_STORED_AS),
  );

/** Who last said at this tab to have seen an alert. */
export const keptName = (): string => tryStorage(() => sessionStorage.getItem(NAME_STORED_AS)) ?? '';

/** Keeps that until the tab is closed. */
export const keepName = (name: string): void => tryStorage(() => sessionStorage.setItem(NAME_STORED_AS, name));

/** The browser may forbid storage: even reading the property throws then. The page works without it. */
const tryStorage = <Result>(use: () => Result): Result | undefined => {
  try {
    return use();
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
};
