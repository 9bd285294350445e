import { z } from 'zod';

import { polled } from '../../emulators/deadline.ts';
import { ask } from '../ask.ts';
import { CommandError, dayOption, urlOption } from '../command-line.ts';
import { startProgress } from '../progress.ts';
import { Delivery } from '../send/deliver.ts';
import { simulatorOf } from '../start/run-directory.ts';
import { callSteps } from './call-steps.ts';
import { believableDay, CAMERAS } from './day.ts';
import { daySchema, dayTable } from './day-table.ts';

const DAY_MILLISECONDS = 86_400_000;

/**
 * The command `npm run demo`. Without a date it fills yesterday, which is a whole day.
 *
 * @param now in milliseconds since 1970
 */
export const demoCommand = (now: number) => ({
  help: `npm run demo -- [--url URL] [--date YYYY-MM-DD]
  Sends a day of 20 cameras to a running service, phones people in waves, and prints the results.
  --url URL          the service, without /api; http://localhost:7071 by default
  --date YYYY-MM-DD  the UTC day to fill, 2000-01-01 to today; yesterday by default`,
  values: z.object({
    url: urlOption,
    date: dayOption
      .refine((date) => date >= '2000-01-01' && date <= isoDay(now), {
        error: ({ input }) => `${String(input)} is outside 2000-01-01 to today.`,
      })
      .prefault(isoDay(now - DAY_MILLISECONDS)),
  }),
});

type Print = (text: string) => void;

const isoDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

/**
 * Sends the events of a day until now, places a test call, reports a fire to three people in waves, and prints the results.
 *
 * @param now in milliseconds since 1970
 */
export const demo = async (
  { url, date }: { readonly url: URL; readonly date: string },
  now: number,
  print: Print = console.log,
): Promise<void> => {
  const base = url.href.replace(/\/+$/, '');
  await ask(base, '/api/health', z.unknown());
  await sendDay(base, date, now, print);
  const day = await ask(base, `/api/analytics/day?date=${date}`, daySchema);
  print(`\nGET /api/analytics/day?date=${date}\n\n${dayTable(day)}`);
  const simulatorUrl = await simulatorOf(url);
  if (simulatorUrl === undefined) {
    print(
      '\nThe demo places no calls: its numbers are fictional, and this service has no simulated phone on this machine.',
    );
  } else {
    const numbers = freshNumbers(Date.now());
    const tested = `${numbers}00`;
    await ask(base, '/api/test-call', z.unknown(), { body: [tested] });
    await printSteps(simulatorUrl, 'The test call', tested, print);
    await showWaves(base, simulatorUrl, numbers, print);
  }
  print(`\nOn the dashboard: ${base}/api/dashboard?date=${date}&tz=utc`);
};

const BATCH_SIZE = 500;

const GIVE_UP_AFTER_MS = 60_000;

/** Sends the messages of a day until `now`, in milliseconds since 1970. */
export const sendDay = async (base: string, date: string, now: number, print: Print): Promise<void> => {
  const messages = believableDay(date, now);
  print(`\n${date}: ${CAMERAS.length} cameras, ${messages.length} messages, in the order of their time.`);
  if (messages.length === 0) return;
  const advance = startProgress('messages');
  const delivery = new Delivery({
    target: { url: base, key: undefined },
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    stop: new AbortController().signal,
    note: console.error,
  });
  const items = messages.map((message, index) => ({ line: 1, index, text: JSON.stringify(message), fault: undefined }));
  const total = { recorded: 0, unchanged: 0 };
  const start = performance.now();
  for (let from = 0; from < messages.length; from += BATCH_SIZE) {
    const { recorded, unchanged } = await delivery.deliver(items.slice(from, from + BATCH_SIZE));
    total.recorded += recorded;
    total.unchanged += unchanged;
    const sent = Math.min(from + BATCH_SIZE, messages.length);
    advance({ label: date, part: sent / messages.length, count: sent });
  }
  const seconds = (performance.now() - start) / 1000;
  print(`${total.recorded} recorded, ${total.unchanged} already known, in ${seconds.toFixed(1)} s.`);
};

const printSteps = async (simulatorUrl: string, what: string, number: string, print: Print): Promise<void> => {
  const steps = await callSteps(simulatorUrl, number);
  print(`\n${what} to ${number}:\n`);
  for (const line of steps) print(`  ${line}`);
};

const [FIRST_AREA_CODE, AREA_CODES] = [206, 784];

/**
 * The first digits of the numbers of this demo. The area code changes every second, so that a second demo calls new numbers: the scenario of a number
 * depends on the number of its earlier calls. Numbers with 555-01 in the middle are fictional in every area code.
 */
export const freshNumbers = (now: number): string =>
  `+1${FIRST_AREA_CODE + (Math.floor(now / 1_000) % AREA_CODES)}55501`;

/** Enough for three attempts at each callee with the pauses of a local run. */
const COMPLETED_MILLISECONDS = 300_000;

/** The first callee never answers. The second presses 1, and the service does not call the third. */
const showWaves = async (base: string, simulatorUrl: string, numbers: string, print: Print): Promise<void> => {
  const alert = {
    channel: 'phone',
    alert_type: 'ConfirmedFire',
    recipients: [[`${numbers}01`], [`${numbers}70`], [`${numbers}90`]],
    confirm: true,
    wave_seconds: 60,
    reference: CAMERAS[0],
    details: 'Antelope Ridge, camera 4',
  };
  const sentSchema = z.object({ notification_id: z.string() });
  const { notification_id: id } = await ask(base, '/api/notifications', sentSchema, { body: alert });
  print('\nWaiting for the end of the notification …');
  const state = await polled(COMPLETED_MILLISECONDS, async () => {
    const now = await ask(base, `/api/notifications/${id}`, z.looseObject({ status: z.string() }));
    return now.status === 'in_progress' ? undefined : now;
  });
  if (state === undefined) throw new CommandError('The notification was not completed in time.');
  await printSteps(simulatorUrl, 'The call of the second wave', `${numbers}70`, print);
  print(`\nGET /api/notifications/${id}\n\n${JSON.stringify(state, undefined, 2)}`);
};
