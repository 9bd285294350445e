import { NOON, TODAY } from './activity.ts';
import type { PageService } from './service.ts';

/** The cameras of the largest network that there is. */
export const CAMERAS = Array.from({ length: 1_300 }, (_, camera) => `mountain-top-${String(camera).padStart(4, '0')}`);

/** As many categories as hardly any camera has. */
const CATEGORIES = Array.from({ length: 60 }, (_, category) => `category-${category}`);

const countsOf = (seed: number) => {
  const perCategory = Object.fromEntries(CATEGORIES.map((name, index) => [name, (seed * 7 + index * 13) % 97]));
  return {
    total_events: seed,
    counts_per_category: perCategory,
    reviewed_total_events: seed % 50,
    reviewed_counts_per_category: perCategory,
    annotated_total_events: seed % 40,
    annotated_counts_per_category: perCategory,
  };
};

const seriesOf = (seed: number): object => {
  const steps = Array.from({ length: 24 }, (_, hour) => ({
    ts_utc_start: new Date(Date.parse(TODAY) + hour * 3_600_000).toISOString(),
    ts_utc_end: new Date(Date.parse(TODAY) + (hour + 1) * 3_600_000 - 1).toISOString(),
    active_cameras: 1_300,
    ...countsOf(seed + hour),
  }));
  return { step: 'hour', steps };
};

const seenOf = (seed: number, query: URLSearchParams) => {
  const last_event_at = new Date(NOON - (seed % 40) * 60_000).toISOString();
  const cameras = CAMERAS.slice(0, Number(query.get('limit'))).map((camera_id) => ({ camera_id, last_event_at }));
  return { date: TODAY, days: 1, total_cameras: 1_300, cameras };
};

const camerasOf = (seed: number, query: URLSearchParams): object => {
  const seen = seenOf(seed, query);
  const cameras = seen.cameras.map((each, index) => {
    const counts = countsOf(seed + index);
    const { counts_per_category: flagged, reviewed_counts_per_category: confirmed } = counts;
    return { ...each, ...counts, flagged, confirmed, missed: confirmed };
  });
  return { ...seen, cameras };
};

const activityOf = (seed: number, query: URLSearchParams): object => {
  const sending = CAMERAS.slice(seed % 7);
  const ids = query.has('active_camera_ids') ? {} : { active_camera_ids: sending };
  const ends = { ts_utc_start: `${TODAY}T00:00:00+00:00`, ts_utc_end: `${TODAY}T23:59:59.999999+00:00` };
  return { ...ends, active_cameras: sending.length, ...ids, ...countsOf(seed) };
};

/** So many answers of a kind are made, once; then they come again. */
const ANSWERS = 5;

/**
 * From now on the service answers as that network does, and every answer differs from the one before in everything that may: what the real
 * one would have to compute is not what is measured.
 */
export const letEverythingChange = (service: PageService): void => {
  const asked = new Map<string, number>();
  const made = new Map<string, string>();
  const changing = (kind: string, bodyOf: (seed: number) => object) => {
    const seed = asked.get(kind) ?? 0;
    asked.set(kind, (seed + 1) % ANSWERS);
    const name = `${kind} ${seed}`;
    const body = made.get(name) ?? JSON.stringify(bodyOf(seed));
    made.set(name, body);
    return { status: 200, headers: { 'content-type': 'application/json' }, body };
  };
  service.before = (path) => {
    const { pathname, searchParams: query } = new URL(path, 'http://localhost');
    switch (pathname) {
      case '/api/analytics/series':
        return changing(pathname, seriesOf);
      case '/api/analytics/cameras':
        return changing(`${pathname} ${query.get('limit')}`, (seed) => camerasOf(seed, query));
      case '/api/analytics/cameras/last-seen':
        return changing(pathname, (seed) => seenOf(seed, query));
      case '/api/analytics':
        return changing(`${pathname} ${query.get('active_camera_ids')}`, (seed) => activityOf(seed, query));
      default:
        return undefined;
    }
  };
};
