/** The browser may forbid storage: even reading the property throws then. The page works without it. */
const tryStorage = <Result>(use: () => Result): Result | undefined => {
  try {
    return use();
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
};

/** A text that the browser keeps; if it allows no storage, for as long as the page is open. Undefined: none. */
class Kept {
  readonly #name: string;
  readonly #storage: () => Storage;
  #unstored: string | undefined;

  constructor(name: string, storage: () => Storage) {
    this.#name = `wildfire-camera-activity.${name}`;
    this.#storage = storage;
  }

  get(): string | undefined {
    const stored = tryStorage(() => this.#storage().getItem(this.#name));
    return stored === undefined ? this.#unstored : (stored ?? undefined);
  }

  set(value: string | undefined): void {
    this.#unstored = value;
    tryStorage(() =>
      value === undefined ? this.#storage().removeItem(this.#name) : this.#storage().setItem(this.#name, value),
    );
  }
}

/** The function key: until the tab is closed, and never in an address, a cookie or anything that outlives the tab. */
export const keptKey = new Kept('function-key', () => sessionStorage);

/** The name of the person who last took an alert in hand at this tab; until the tab is closed. */
export const keptName = new Kept('name', () => sessionStorage);

/** `yes` if this tab has seen that the service phones; until the tab is closed. */
export const keptPhone = new Kept('phone', () => sessionStorage);

/** The clock that this browser was last told to show, `utc`, for pages to come. A browser that was never told shows local time. */
export const keptClock = new Kept('clock', () => localStorage);

/** Whether alerts sound, `on` or `off`, for pages to come. Undefined: nobody has decided. */
export const keptSound = new Kept('sound', () => localStorage);

/** Whether a text can be sent as a key at all: a header takes visible ASCII only. */
export const canBeKey = (text: string): boolean => /^[\x21-\x7e]{1,512}$/.test(text);
