import { HttpRequest } from '@azure/functions';

/*
 * What the page asks and this tree's endpoints do not answer yet: their answers, made from those that they give. To be removed when
 * `series` takes every step, `cameras` takes `accuracy=true`, and `accuracy` and `cameras/last-seen` are there.
 */

/** How many of the finest steps that are answered today make one of these. */
const COARSER: Readonly<Record<string, readonly [step: string, count: number]>> = {
  '5_minutes': ['minute', 5],
  '10_minutes': ['minute', 10],
  '30_minutes': ['minute', 30],
  '3_hours': ['hour', 3],
  '6_hours': ['hour', 6],
};

type Json = Readonly<Record<string, unknown>>;

interface Later {
  readonly request: HttpRequest;
  /** The body that is answered if there is no such endpoint. */
  readonly otherwise?: unknown;
  /** The body of its answer in place of the one of today. */
  readonly changed?: (body: unknown) => unknown;
}

/** A question of the page as today's endpoints take it, and what makes the answer that the page expects. */
export const laterApi = (request: HttpRequest): Later => {
  const url = new URL(request.url);
  const { pathname, searchParams: query } = url;
  const [step, count] = COARSER[query.get('step') ?? ''] ?? [];
  if (pathname.endsWith('/series') && step !== undefined && count !== undefined) {
    const wanted = query.get('step');
    query.set('step', step);
    // The tag of the added answer is another one. A file has the finer steps.
    const accept = request.headers.get('accept') ?? '';
    const asked = new HttpRequest({ method: 'GET', url: url.href, headers: { accept } });
    if (accept === 'text/csv') return { request: asked };
    return { request: asked, changed: (body) => coarser(asJson(body), String(wanted), count) };
  }
  if (pathname.endsWith('/cameras/last-seen')) {
    url.pathname = pathname.replace('/last-seen', '');
    query.set('counts', 'false');
  }
  if (query.get('accuracy') === 'true') query.delete('accuracy');
  const again = new HttpRequest({ method: 'GET', url: url.href, headers: Object.fromEntries(request.headers) });
  const [date, days] = [query.get('date'), Number(query.get('days'))];
  const jsonBody = { date, days, total_events: 0, reviewed_total_events: 0, categories: ACCURACY, without: [] };
  return { request: again, ...(pathname.endsWith('/accuracy') && { otherwise: jsonBody }) };
};

/** What every test is told about the AI. */
export const ACCURACY = {
  fire: { flagged: 40, confirmed: 3, missed: 2 },
  smoke: { flagged: 0, confirmed: 0, missed: 1 },
};

const coarser = (whole: Json, step: string, count: number): Json => {
  const steps = Array.isArray(whole['steps']) ? whole['steps'].map(asJson) : [];
  const length = count * (step.endsWith('hours') ? 3_600_000 : 60_000);
  const groups = Map.groupBy(steps, (each) => Math.floor(Date.parse(String(each['ts_utc_start'])) / length));
  const added = Array.from(groups.values(), (group) => ({
    ...group.reduce((sum, each) => addedUp(sum, each)),
    active_cameras: Math.max(...group.map((each) => Number(each['active_cameras']))),
    ts_utc_end: group.at(-1)?.['ts_utc_end'],
  }));
  return { ...whole, step, steps: added };
};

const asJson = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};

const addedUp = (left: Json, right: Json): Json =>
  Object.fromEntries(
    Object.entries(right).map(([name, value]) => {
      const before = left[name];
      if (typeof value === 'number') return [name, value + Number(before ?? 0)];
      return [name, typeof value === 'object' && value !== null ? addedUp(asJson(before), asJson(value)) : before];
    }),
  );
