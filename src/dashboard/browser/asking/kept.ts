/** If the browser forbids storage, reading the property throws. The page works without storage. */
const tryStorage = <Result>(use: () => Result): Result | undefined => {
  try {
    return use();
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
};

/** A text that the browser keeps; if it cannot store it, until the page is closed. */
class Kept {
  readonly #name: string;
  readonly #storage: () => Storage;
  #unstored: string | undefined;

  constructor(name: string, storage: () => Storage) {
    this.#name = `wildfire-camera-activity.${name}`;
    this.#storage = storage;
  }

  get(): string | undefined {
    return this.#unstored ?? tryStorage(() => this.#storage().getItem(this.#name)) ?? undefined;
  }

  set(value: string | undefined): void {
    // Full storage refuses a value, and would still answer the value before.
    const isStored = tryStorage(() => {
      if (value === undefined) this.#storage().removeItem(this.#name);
      else this.#storage().setItem(this.#name, value);
      return true;
    });
    this.#unstored = isStored === true ? undefined : value;
  }
}

/** The function key, until the tab is closed: never in an address or a cookie. */
export const keptKey = new Kept('function-key', () => sessionStorage);

/** The last name of a reader who took or stopped an alert, until the tab is closed. */
export const keptName = new Kept('name', () => sessionStorage);

/** The alerts that the tab has shown to its reader (JSON), until the tab is closed. */
export const keptMemory = new Kept('memory', () => sessionStorage);

/** `yes` if this tab has seen a phone, until the tab is closed. */
export const keptPhone = new Kept('phone', () => sessionStorage);

/** `utc` if the reader chose it, for all later pages. */
export const keptClock = new Kept('clock', () => localStorage);

/** `on` or `off`, for all later pages; undefined before the reader chose. */
export const keptSound = new Kept('sound', () => localStorage);
