/**
 * `npm run demo`: sends a believable day of 20 cameras to the running service, places a test call, reports a fire to three people in waves, and
 * prints what the service makes of it, and where to look at it. Sending a day again changes nothing.
 */
import { CommandError, runCommand } from '../command-line.ts';
import { Progress } from '../progress.ts';
import { calledNumbers, callStory, publishedOutcomes } from './demo/call-story.ts';
import { type DemoCallees, freshCallees } from './demo/callees.ts';
import { believableDay, CAMERAS } from './demo/day.ts';
import { dayTable } from './demo/day-table.ts';
import { demoCommand, type DemoOptions } from './demo/options.ts';
import { Service } from './demo/service.ts';
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

const tellStory = async (simulatorUrl: string, what: string, number: string): Promise<void> => {
  const story = await callStory(simulatorUrl, number);
  if (story === undefined) throw new CommandError(`${what} did not end in time.`);
  console.log(`\n${what} to ${number}:\n`);
  for (const line of story) console.log(`  ${line}`);
};

/** The first person never answers, the second presses a key, and so the third is not called. */
const tellWaves = async (service: Service, simulatorUrl: string, { alerted }: DemoCallees): Promise<void> => {
  const { notification_id: id } = await service.alert(
    alerted.map((number) => [number]),
    CAMERAS[0] ?? 'a camera',
  );
  console.log('\nWaiting until all three are reached, given up or stopped …');
  const state = await service.completed(id);
  await tellStory(simulatorUrl, 'The call of the second wave', alerted[1]);
  console.log(`\nGET /api/notifications/${id}\n\n${JSON.stringify(state, undefined, 2)}`);
  const [published] = await publishedOutcomes(simulatorUrl, id);
  console.log(`\nThe first event at the local Event Grid topic:\n\n${JSON.stringify(published, undefined, 2)}`);
};

const demo = async ({ url, date }: DemoOptions): Promise<void> => {
  const service = new Service(url.href);
  await service.mustBeHealthy();
  await sendDay(service, date);
  const simulatorUrl = await simulatorOf(url);
  console.log(`\nGET /api/analytics/day?date=${date}\n\n${dayTable(await service.day(date))}`);
  if (simulatorUrl === undefined) {
    console.log(
      '\nNobody is phoned: the phone is off, real, or on another machine, and the numbers of the demo are nobody’s.',
    );
  } else {
    const callees = freshCallees(await calledNumbers(simulatorUrl));
    await service.testCall(callees.tested);
    await tellStory(simulatorUrl, 'The test call', callees.tested);
    await tellWaves(service, simulatorUrl, callees);
  }
  console.log(`\nThe same to look at: ${service.url}/api/dashboard?date=${date}&tz=utc`);
};

await runCommand(demoCommand(Date.now()), demo);
