import { connect } from 'node:net';

import pLimit from 'p-limit';

import { evenly, record, yesterday } from './client.ts';
import { percentile, report, rounded, sized } from './measure.ts';
import type { Stage } from './stage.ts';
import { frames } from './workload.ts';

/** Requests of one event each, a second: a normal day of the largest network. */
const RECORDED_A_SECOND = 25;

const FLOOD_REQUESTS = sized(20_000, 600);

/** At once. */
const FLOOD_CONNECTIONS = 64;

/** What the daily cap of the log must hold: half an hour at 333 requests a second. LOG_DAILY_CAP_GB is 2 by default. */
const [HALF_AN_HOUR, CAP_BYTES] = [600_000, 2_000_000_000];

const LIMIT_BYTES = 5_242_880;

const HEAD = 'HTTP/1.1\r\nHost: flood.example\r\nWebHook-Request-Origin: flood.example\r\n';
const CALLBACK = `POST /api/AnomalyCallback ${HEAD}`;

/** A kind of request that anybody may send without a key. */
interface Kind {
  readonly what: string;
  readonly bytes: string;
  /** How the client goes on: it waits for the answer, ends its side in the middle, or is gone at once. */
  readonly client: 'waits' | 'ends' | 'leaves';
  /**
   * Bytes that the real host (4.1037) sent to Application Insights for one, with host.json as it is. What was not measured (a header beyond Latin-1)
   * stands with the dearest that was.
   */
  readonly hostBytes: number;
}

const whole = (request: string, hostBytes = 170): Kind => ({
  what: request.split(' ', 2).join(' '),
  bytes: `${request} ${HEAD}Connection: close\r\n\r\n`,
  client: 'waits',
  hostBytes,
});

const KINDS: readonly Kind[] = [
  whole('GET /api/health'),
  whole('GET /api/openapi.json'),
  whole('GET /api/dashboard'),
  whole('OPTIONS /api/events'),
  whole('GET /api/nowhere', 0),
  {
    what: 'a callback without a token',
    bytes: `${CALLBACK}Connection: close\r\nContent-Length: 2\r\n\r\n[]`,
    client: 'waits',
    hostBytes: 170,
  },
  { what: 'a body that breaks off', bytes: `${CALLBACK}Content-Length: 80\r\n\r\n[`, client: 'ends', hostBytes: 1_570 },
  {
    what: 'a body in chunks that breaks off',
    bytes: `${CALLBACK}Transfer-Encoding: chunked\r\n\r\n5\r\n[`,
    client: 'ends',
    hostBytes: 100,
  },
  { what: 'gone before its body', bytes: `${CALLBACK}Content-Length: 80\r\n\r\n`, client: 'leaves', hostBytes: 2_000 },
  { what: 'gone before the answer', bytes: `GET /api/health ${HEAD}\r\n`, client: 'leaves', hostBytes: 2_700 },
  {
    what: 'a body over the limit is announced',
    bytes: `${CALLBACK}Connection: close\r\nContent-Length: ${LIMIT_BYTES + 1}\r\n\r\n`,
    client: 'waits',
    hostBytes: 297,
  },
  {
    what: 'a header beyond Latin-1',
    bytes: `GET /api/health ${HEAD}User-Agent: \u{1F525}\r\nConnection: close\r\n\r\n`,
    client: 'waits',
    hostBytes: 2_700,
  },
];

/** Sends one request; the status of its answer, or that there is none. What follows the status is read and dropped: the client is to be cheap. */
const send = async (port: number, { bytes, client }: Kind): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let status = 'none';
    socket.once('data', (first) => {
      status = /^HTTP\/1\.1 (\d+)/.exec(first.toString('latin1', 0, 16))?.[1] ?? status;
      socket.resume();
      // What was announced and never comes is not waited for.
      if (client === 'waits') socket.end();
    });
    // An answer or none is what is counted; a connection that was broken off says "none" by its close.
    socket.once('error', () => {});
    socket.once('close', () => resolve(status));
    socket.write(bytes, () => {
      if (client === 'ends') socket.end();
      if (client === 'leaves') socket.destroy();
    });
  });

/**
 * How recording goes on while anybody sends requests without a key in `seconds`: whole ones, and all kinds of broken ones, which cost the Functions host
 * a log line. What a kind alone would put into the log in half an hour is the app's own lines here and the host's by the figures of the real one.
 *
 * @throws {Error} where a kind fills the day's log
 */
export const floodBench = async (stage: Stage, seconds: number): Promise<void> => {
  const lines: string[] = [];
  const { url } = await stage.serve(
    await stage.azurite(),
    {
      ACS_RESOURCE_ID: '00000000-0000-4000-8000-000000000000',
      ACS_TOKEN_ISSUER: 'http://127.0.0.1:9',
      FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: `${LIMIT_BYTES}`,
    },
    { onLine: (line) => lines.push(line) },
  );
  const port = Number(new URL(url).port);
  const recorded = async (name: string): Promise<number[]> => {
    const count = RECORDED_A_SECOND * seconds;
    const events = frames({ cameras: 200, frames: count, step: 40_000n, start: yesterday(), name });
    return evenly(count, seconds, async (index) => record(url, events.slice(index, index + 1)));
  };
  const answers = new Map(KINDS.map((kind) => [kind, new Map<string, number>()]));
  const anonymous = async (index: number): Promise<void> => {
    const kind = KINDS[index % KINDS.length];
    const counts = kind && answers.get(kind);
    if (kind === undefined || counts === undefined) return;
    const status = await send(port, kind);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  };
  await recorded('warm');
  const before = await recorded('before');
  lines.length = 0;
  const bounded = pLimit(FLOOD_CONNECTIONS);
  const [during, flood] = await Promise.all([
    recorded('during'),
    evenly(FLOOD_REQUESTS, seconds, async (index) => bounded(async () => anonymous(index))),
  ]);
  const own = lines.filter((line) => line.startsWith('{') && !line.includes('"events recorded"')).join('\n').length;
  const [p95Before, p95During] = [percentile(before, 0.95), percentile(during, 0.95)];
  report(`${FLOOD_REQUESTS} requests without a key in ${seconds} s, while ${RECORDED_A_SECOND} events/s are recorded`, [
    {
      'recording p95 before, ms': rounded(p95Before, 1),
      'during, ms': rounded(p95During, 1),
      ratio: rounded(p95During / p95Before),
      'flood p95, ms': rounded(percentile(flood, 0.95), 1),
      'logged by the app, bytes': own,
    },
  ]);
  const logged = KINDS.map((kind) => ({
    kind: kind.what,
    answers: [...(answers.get(kind) ?? [])].map(([status, count]) => `${count} × ${status}`).join(', '),
    'host, bytes a request': kind.hostBytes,
    'MB in half an hour at 333/s': rounded((HALF_AN_HOUR * (kind.hostBytes + own / FLOOD_REQUESTS)) / 1_000_000, 0),
  }));
  report('What each kind alone would log', logged);
  const filling = logged.filter((row) => row['MB in half an hour at 333/s'] * 1_000_000 >= CAP_BYTES);
  if (filling.length > 0) throw new Error(`The day's log is full after half an hour: ${filling[0]?.kind}`);
};
