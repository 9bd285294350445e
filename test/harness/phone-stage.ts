import assert from 'node:assert/strict';

import { afterAll, beforeAll } from 'vitest';
import { z } from 'zod';

import { randomFrom, integerBetween } from '../../infra/cli/demo/random.ts';
import { accountOf } from '../../infra/cli/start/local-settings.ts';
import { startAcsSimulator } from '../../infra/emulators/acs-simulator/simulator.ts';
import type { CallLog } from '../../infra/emulators/phone-network/phone-call.ts';
import type { SimulatorOptions } from '../../infra/emulators/phone-network/phone-network.ts';
import type { Simulator } from '../../infra/emulators/phone-network/simulator.ts';
import { startTwilioSimulator, type TwilioSimulator } from '../../infra/emulators/twilio-simulator/simulator.ts';
import { findAlertType } from '../../src/calls/model/alert-types.ts';
import { callMessage, type MessageTerms, spokenMessage } from '../../src/calls/rules/message.ts';
import { notificationAnswer } from '../../src/http/notification-answer.ts';
import { startApp, testEnvironment } from './app.ts';
import { Between } from './between.ts';
import { checkedFetch } from './contract.ts';
import { until } from './until.ts';

/** Options of a stage. */
interface StageOptions {
  /** Communication Services by default. */
  readonly provider?: 'acs' | 'twilio';
  /** How many instances share the tables, behind one address; 1 by default. */
  readonly instances?: number;
  /** Further options of the simulator. */
  readonly network?: SimulatorOptions;
  /** Further settings of the app. */
  readonly environment?: Readonly<Record<string, string>>;
}

const SERVICE_NAME = 'Test Watch';

const callSchema = z.looseObject({
  recipient: z.string(),
  status: z.string(),
  call_connection_id: z.string().optional(),
});
const alertAnswerSchema = z.looseObject({
  notification_id: z.string().optional(),
  calls: z.array(callSchema).optional(),
});

/** Starts the simulators and the app, whose callbacks only the simulator can sign, and whose outcomes go to the topic of the simulator. */
const setStage = async (
  { instances = 1, provider = 'acs', network: given = {}, environment: further }: StageOptions,
  whenOver: (end: () => Promise<void> | undefined) => void,
) => {
  // Its topic and its tokens are used even if Twilio places the calls.
  const acs = await startAcsSimulator(given);
  whenOver(() => acs.stop());
  const twilio = provider === 'twilio' ? await startTwilioSimulator(given) : undefined;
  whenOver(() => twilio?.stop());
  const network: Simulator = twilio ?? acs;
  const frontDoor = await Between.start();
  whenOver(() => frontDoor.stop());
  const { url } = frontDoor;
  const environment = testEnvironment({
    SERVICE_NAME,
    CALLS_AT_ONCE: '100',
    CALLBACK_BASE_URL: url,
    ACS_CONNECTION_STRING: acs.connectionString,
    ACS_RESOURCE_ID: acs.resourceId,
    ACS_TOKEN_ISSUER: acs.issuer,
    EVENT_TOPIC_ENDPOINT: acs.topic.endpoint,
    EVENT_TOPIC_KEY: acs.topic.key,
    ...(twilio && settingsOf(twilio)),
    ...further,
  });
  const apps = await Promise.all(Array.from({ length: instances }, async () => startApp({ environment })));
  const random = randomFrom('front door');
  frontDoor.rule = async (_, carryOut) => carryOut(apps[integerBetween(random, 0, instances - 1)]?.url);
  whenOver(async () => {
    await Promise.all(apps.map((app) => app.stop()));
    // Without its +, so that a number is found in any form.
    const output = apps.map((app) => app.output()).join('\n');
    for (const { to } of network.log().calls) assert(!output.includes(to.slice(1)), 'a number in the log');
  });

  /** Every answer must be as the app's OpenAPI document describes. */
  const fetchChecked = await checkedFetch(url);
  const callsTo = (number: string): readonly CallLog[] => network.log().calls.filter(({ to }) => to === number);

  return {
    acs,
    network,
    url,
    fetch: fetchChecked,
    /** The log of all instances. */
    output: () => apps.map((app) => app.output()).join('\n'),

    /** Sends a notification. @param recipients in a list of lists: in waves @param more further members */
    alert: async (
      alertType: string,
      recipients: readonly string[] | readonly (readonly string[])[],
      more: object = {},
    ) => {
      const body = JSON.stringify({ channel: 'phone', alert_type: alertType, recipients, ...more });
      const response = await fetchChecked(`${url}/api/notifications`, { method: 'POST', body });
      return { status: response.status, ...alertAnswerSchema.parse(await response.json()) };
    },

    /** The state of a notification after its end. */
    completed: async (id = '') => {
      let known: z.output<typeof notificationAnswer> | undefined;
      await until(async () => {
        const response = await fetchChecked(`${url}/api/notifications/${id}`);
        // Storage on a busy machine may take longer than the service waits.
        known = response.status === 503 ? undefined : notificationAnswer.parse(await response.json());
        return known !== undefined && known.status !== 'in_progress';
      }, 'the notification is over');
      assert(known);
      return known;
    },

    /** The only call to a number, after it has ended and all its events were answered. */
    callEnds: async (number: string): Promise<CallLog> => {
      await until(() => callsTo(number).some(isOver), `the call to ${number} ends`);
      await network.settled();
      const [call, ...more] = callsTo(number);
      assert(call !== undefined && more.length === 0, `${more.length + 1} calls to ${number}, expected 1`);
      return call;
    },
  };
};

/** One stage for all tests of a file or group, which may run at the same time. At its end, no line is open. */
export const sharedStage = (options: StageOptions) => {
  const ends: (() => unknown)[] = [];
  let stage: Awaited<ReturnType<typeof setStage>> | undefined;
  beforeAll(async () => {
    stage = await setStage(options, (end) => void ends.push(end));
  });
  afterAll(async () => {
    const calls = () => stage?.network.log().calls ?? [];
    await until(() => calls().every(({ state }) => state === 'ended'), 'all calls are over');
    await stage?.network.settled();
    for (const end of ends.toReversed()) await end();
  });
  return () => {
    if (stage === undefined) throw new Error('the stage is not set');
    return stage;
  };
};

/** The settings by which the service calls through the simulator of Twilio only. */
const settingsOf = (twilio: TwilioSimulator) => ({
  ACS_CONNECTION_STRING: '',
  ACS_SOURCE_PHONE_NUMBER: '',
  ACS_COGNITIVE_SERVICES_ENDPOINT: '',
  ...accountOf(twilio),
  TWILIO_CALLS_PER_SECOND: '100',
});

/** The last thing that is reported of a call. */
const LAST: ReadonlySet<string> = new Set(['CallDisconnected', 'completed', 'busy', 'failed', 'no-answer', 'canceled']);

const isOver = ({ state, steps }: CallLog): boolean => state === 'ended' && steps.some(({ text }) => LAST.has(text));

/** The text that a callee must hear. */
export const messageOf = (alertType: string, terms: MessageTerms = {}): string => {
  const found = findAlertType(alertType);
  if (found === undefined) throw new Error(`no alert type ${alertType}`);
  return spokenMessage(callMessage(SERVICE_NAME, found, terms));
};
