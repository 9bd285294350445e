import { NOON, TODAY } from './activity.ts';
import type { PageService } from './service.ts';

/** The cameras of the largest network that there is. */
export const CAMERAS = Array.from({ length: 1_300 }, (_, camera) => `mountain-top-${String(camera).padStart(4, '0')}`);

/** As many categories as hardly any camera has. */
const CATEGORIES = Array.from({ length: 60 }, (_, category) => `category-${category}`);

const answer = (body: object) => ({ status: 200, jsonBody: body });

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

/**
 * From now on the service answers as that network does, and every answer differs from the one before in everything that may: what the real
 * one would have to compute is not what is measured.
 */
export const letEverythingChange = (service: PageService): void => {
  let asked = 0;
  service.before = (path) => {
    asked += 1;
    const { pathname, searchParams: query } = new URL(path, 'http://localhost');
    const sending = CAMERAS.slice(asked % 7);
    if (pathname === '/api/analytics/series') {
      const steps = Array.from({ length: 24 }, (_, hour) => ({
        ts_utc_start: new Date(Date.parse(TODAY) + hour * 3_600_000).toISOString(),
        ts_utc_end: new Date(Date.parse(TODAY) + (hour + 1) * 3_600_000 - 1).toISOString(),
        active_cameras: 1_300,
        ...countsOf(asked + hour),
      }));
      return answer({ step: 'hour', steps });
    }
    if (pathname === '/api/analytics/cameras') {
      const at = new Date(NOON - (asked % 40) * 60_000).toISOString();
      const all = CAMERAS.slice(0, Number(query.get('limit'))).map((camera_id) => ({ camera_id, last_event_at: at }));
      const cameras = query.has('counts')
        ? all
        : all.map((camera, index) => Object.assign(camera, countsOf(asked + index)));
      return answer({ date: TODAY, days: 1, total_cameras: 1_300, cameras });
    }
    if (pathname !== '/api/analytics') return undefined;
    const ids = query.has('active_camera_ids') ? {} : { active_camera_ids: sending };
    const ends = { ts_utc_start: `${TODAY}T00:00:00+00:00`, ts_utc_end: `${TODAY}T23:59:59.999999+00:00` };
    return answer({ ...ends, active_cameras: sending.length, ...ids, ...countsOf(asked) });
  };
};
