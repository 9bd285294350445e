/**
 * `npm run demo`: sends a believable day of 20 cameras to the running service, has three people phoned, and prints what the service
 * makes of both, and where to look at it. Sending a day again changes nothing.
 */
import { CommandError, runCommand } from '../command-line.ts';
import { Progress } from '../progress.ts';
import { calledNumbers, callStory } from './demo/call-story.ts';
import { freshCallees } from './demo/callees.ts';
import { believableDay, CAMERAS } from './demo/day.ts';
import { dayTable } from './demo/day-table.ts';
import { demoCommand, type DemoOptions } from './demo/options.ts';
import { type SentCalls, Service } from './demo/service.ts';
import { readRunNote } from './run-directory.ts';

const BATCH_SIZE = 500;

const sendDay = async (service: Service, date: string): Promise<void> => {
  const messages = believableDay(date, Date.now());
  console.log(`\n${date}: ${CAMERAS.length} cameras, ${messages.length} messages, in the order of their time.`);
  if (messages.length === 0) return;
  const progress = new Progress(date, 'messages');
  const total = { recorded: 0, unchanged: 0 };
  const start = performance.now();
  for (let from = 0; from < messages.length; from += BATCH_SIZE) {
    const { recorded, unchanged } = await service.record(messages.slice(from, from + BATCH_SIZE));
    total.recorded += recorded;
    total.unchanged += unchanged;
    const sent = Math.min(from + BATCH_SIZE, messages.length);
    progress.update({ part: sent / messages.length, count: sent });
  }
  progress.end();
  const seconds = (performance.now() - start) / 1000;
  console.log(`${total.recorded} recorded, ${total.unchanged} known already, in ${seconds.toFixed(1)} s.`);
};

// Only a local run leaves a note, which says where its simulator is.
const simulatorOf = async (url: URL): Promise<string | undefined> =>
  ['localhost', '127.0.0.1'].includes(url.hostname) ? (await readRunNote(Number(url.port)))?.simulatorUrl : undefined;

const tellCalls = async (service: Service, simulatorUrl: string, sent: SentCalls | undefined): Promise<void> => {
  const [first] = sent?.calls ?? [];
  if (sent === undefined || first === undefined) throw new CommandError('The test calls were not placed.');
  const story = await callStory(simulatorUrl, first.recipient);
  if (story === undefined) throw new CommandError('The first test call did not end in time.');
  console.log(`\nThe test call to ${first.recipient}:\n`);
  for (const line of story) console.log(`  ${line}`);
  const people = sent.calls.length;
  console.log(`\nWaiting until all ${people} are reached or given up …`);
  const progress = new Progress('reached or given up', '');
  const state = await service.completed(sent.notification_id, (over) => {
    progress.update({ part: undefined, count: over, text: `${over} of ${people}` });
  });
  progress.end();
  console.log(`\nGET /api/notifications/${sent.notification_id}\n\n${JSON.stringify(state, undefined, 2)}`);
};

const demo = async ({ url, date }: DemoOptions): Promise<void> => {
  const service = new Service(url.href);
  await service.mustBeHealthy();
  await sendDay(service, date);
  const simulatorUrl = await simulatorOf(url);
  const sent =
    simulatorUrl === undefined ? undefined : await service.testCalls(freshCallees(await calledNumbers(simulatorUrl)));
  console.log(`\nGET /api/analytics/day?date=${date}\n\n${dayTable(await service.day(date))}`);
  if (simulatorUrl !== undefined) await tellCalls(service, simulatorUrl, sent);
  else
    console.log(
      '\nNobody is phoned: the phone is off, real, or on another machine, and the numbers of the demo are nobody’s.',
    );
  console.log(`\nThe same to look at: ${service.url}/api/dashboard?date=${date}&tz=utc`);
};

await runCommand(demoCommand(Date.now()), demo);
