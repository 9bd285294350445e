const STORED_AS = 'wildfire-camera-activity.function-key';

/** Whether a text can be sent as a key at all: a header takes visible ASCII only. */
export const canBeKey = (text: string): boolean => /^[\x21-\x7e]{1,512}$/.test(text);

/**
 * The function key, for the browser session only: never in an address, a cookie or anything that outlives the tab. Where the
 * browser allows no session storage, for as long as the page is open.
 */
export class SessionKey {
  #key: string | undefined = readStored();

  get(): string | undefined {
    return this.#key;
  }

  set(key: string): void {
    this.#key = key;
    tryStorage((storage) => storage.setItem(STORED_AS, key));
  }

  forget(): void {
    this.#key = undefined;
    tryStorage((storage) => storage.removeItem(STORED_AS));
  }
}

const readStored = (): string | undefined => {
  const key = tryStorage((storage) => storage.getItem(STORED_AS)) ?? undefined;
  return key !== undefined && canBeKey(key) ? key : undefined;
};

/** The browser may forbid storage: even reading the property throws then. The page works without it. */
const tryStorage = <Result>(use: (storage: Storage) => Result): Result | undefined => {
  try {
    return use(window.sessionStorage);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
};
