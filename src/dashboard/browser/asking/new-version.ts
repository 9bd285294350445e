import type { Connection } from './service-client.ts';

/** Milliseconds between two checks for a new version of the page. */
const EVERY = 600_000;

/**
 * Asks for the tag of the page, and reports when it changes: the service has a new version.
 *
 * @returns a function that ends it
 */
export const watchVersion = ({ base }: Pick<Connection, 'base'>, changed: () => void): (() => void) => {
  let first: string | undefined;
  const check = async (): Promise<void> => {
    const tag = await tagOf(`${base}dashboard`);
    first ??= tag;
    if (tag !== undefined && tag !== first) changed();
  };
  void check();
  const timer = setInterval(() => void check(), EVERY);
  return () => clearInterval(timer);
};

/** The browser has the page: an unchanged page is an empty 304. */
const tagOf = async (url: string): Promise<string | undefined> => {
  try {
    const { status, headers } = await fetch(url, { cache: 'no-cache', redirect: 'error' });
    return status === 200 ? (headers.get('etag') ?? undefined) : undefined;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
};
