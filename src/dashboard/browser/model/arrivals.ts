import type { Notification } from './answers.ts';

/**
 * The alerts that a tab has shown to its reader. It survives a reload. An alert is new to the tab until a reader has seen it, even if its calls
 * were over before the page could ask again.
 */
export interface TabMemory {
  /** When the tab was opened first: milliseconds since 1970, by the service's clock. Undefined before the first answer. */
  readonly since?: number | undefined;
  /** Alerts that are not new: their calls were over when the tab was opened, or a reader has seen them. */
  readonly known: readonly string[];
  /**
   * The reasons of the alarm that had a desktop notification, and when the alarm sounded last for each (milliseconds since 1970). 0: the
   * browser blocks the sound.
   */
  readonly sounded: Readonly<Record<string, number>>;
}

export const EMPTY_MEMORY: TabMemory = { known: [], sounded: {} };

/** More ids than the page lists of a day: it lists 500. */
const MOST_KNOWN = 2_000;

/** An instance's clock may differ from the clock of the answer (milliseconds). */
const CLOCKS_DIFFER = 30_000;

/**
 * The first answer tells which alerts are not new.
 *
 * @param openedAt when the tab was opened, by the service's clock
 */
export const withFirstAnswer = (memory: TabMemory, listed: readonly Notification[], openedAt: number): TabMemory => {
  if (memory.since !== undefined) return memory;
  const over = listed.filter(
    ({ status, created_at: at }) => status !== 'in_progress' && Date.parse(at) < openedAt - CLOCKS_DIFFER,
  );
  return { ...memory, since: openedAt, known: over.map(({ notification_id: id }) => id) };
};

/** A reader has seen these alerts. */
export const withSeen = (memory: TabMemory, ids: readonly string[]): TabMemory => ({
  ...memory,
  known: [...new Set([...memory.known, ...ids])].slice(-MOST_KNOWN),
});

/** A reader marks these alerts as unseen again. */
export const withUnseen = (memory: TabMemory, ids: readonly string[]): TabMemory => ({
  ...memory,
  known: memory.known.filter((each) => !ids.includes(each)),
});

/** The alerts that came while the tab was open, and that no reader has seen in it. */
export const arrivalsOf = ({ since, known }: TabMemory, listed: readonly Notification[]): readonly Notification[] => {
  if (since === undefined) return [];
  const isKnown = new Set(known);
  return listed.filter(({ notification_id: id }) => !isKnown.has(id));
};

/** No reader marks alerts as seen on a wall: a new fire that is over stays listed for an hour (milliseconds). */
const ON_WALL_MS = 3_600_000;

/** @param now milliseconds since 1970 */
export const isOnWall = ({ created_at: at }: Notification, now: number): boolean => now - Date.parse(at) < ON_WALL_MS;
