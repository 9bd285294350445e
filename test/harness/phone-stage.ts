import assert from 'node:assert/strict';

import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import { z } from 'zod';

import { randomFrom } from '../../infra/cli/demo/random.ts';
import { accountOf } from '../../infra/cli/start/local-settings.ts';
import { startAcsSimulator } from '../../infra/emulators/acs-simulator/simulator.ts';
import type { CallStory } from '../../infra/emulators/phone-network/phone-call.ts';
import type { SimulatorOptions } from '../../infra/emulators/phone-network/phone-network.ts';
import type { Simulator } from '../../infra/emulators/phone-network/simulator.ts';
import { startTwilioSimulator, type TwilioSimulator } from '../../infra/emulators/twilio-simulator/simulator.ts';
import { findAlertType } from '../../src/calls/model/alert-types.ts';
import { callMessage, type MessageTerms, spokenMessage } from '../../src/calls/rules/message.ts';
import { notificationAnswer } from '../../src/http/notification-answer.ts';
import { startApp, testEnvironment } from './app.ts';
import { Between, type Rule, splitOver } from './between.ts';
import { checkedFetch } from './contract.ts';
import { until } from './until.ts';

/** Options of a stage. */
export interface StageOptions {
  /** Communication Services by default. */
  readonly provider?: 'acs' | 'twilio';
  /** How many instances share the tables; 1 by default. Several have a front door. */
  readonly instances?: number;
  /** True if outcomes are published to the simulator's topic; false by default. */
  readonly publishesOutcomes?: boolean;
  /** What happens to the app's requests to its tables; by default all are carried out. */
  readonly tablesRule?: Rule;
  /** Further options of the simulator. */
  readonly network?: SimulatorOptions;
  /** Further settings of the app. */
  readonly environment?: Readonly<Record<string, string>>;
}

const SERVICE_NAME = 'Test Watch';

/** What `GET /api/notifications/{id}` answers. */
export type NotificationState = z.output<typeof notificationAnswer>;

const alertAnswerSchema = z.looseObject({
  notification_id: z.string().optional(),
  detail: z.string().optional(),
  calls: z
    .array(z.looseObject({ recipient: z.string(), status: z.string(), call_connection_id: z.string().optional() }))
    .optional(),
});

/** The app and the simulated telephone network, see {@link setStage}. */
export type Stage = Awaited<ReturnType<typeof setStage>>;

/**
 * Starts the simulators and the app, whose callbacks only the simulator can sign. All of them end after the test.
 *
 * @param whenOver the test's own `onTestFinished`; needed in concurrent tests
 */
export const setStage = async (
  options: StageOptions = {},
  whenOver: (end: () => Promise<void> | undefined) => void = onTestFinished,
) => {
  const { instances = 1, provider = 'acs', network: given = {}, tablesRule } = options;
  // Its topic and its tokens are used even if Twilio places the calls.
  const acs = await startAcsSimulator(given);
  whenOver(() => acs.stop());
  const twilio = provider === 'twilio' ? await startTwilioSimulator(given) : undefined;
  whenOver(() => twilio?.stop());
  const network: Simulator = twilio ?? acs;
  const tables = await Between.start(inject('tablesConnectionString'));
  whenOver(() => tables.stop());
  const frontDoor = await Between.start();
  whenOver(() => frontDoor.stop());
  if (tablesRule !== undefined) tables.rule = tablesRule;
  const settings = testEnvironment({
    SERVICE_NAME,
    CALLS_AT_ONCE: '100',
    ACS_CONNECTION_STRING: acs.connectionString,
    ACS_RESOURCE_ID: acs.resourceId,
    ACS_TOKEN_ISSUER: acs.issuer,
    ...(tablesRule && { TABLES_CONNECTION_STRING: tables.connectionString }),
    ...(twilio && settingsOf(twilio)),
    ...(options.publishesOutcomes === true && {
      EVENT_TOPIC_ENDPOINT: acs.topic.endpoint,
      EVENT_TOPIC_KEY: acs.topic.key,
    }),
  });
  const environment = (own: string) => ({
    ...settings,
    CALLBACK_BASE_URL: instances > 1 ? frontDoor.url : own,
    ...options.environment,
  });
  const apps = await Promise.all(Array.from({ length: instances }, async () => startApp({ environment })));
  frontDoor.rule = splitOver(apps, randomFrom('front door'));
  whenOver(async () => {
    await Promise.all(apps.map((app) => app.stop()));
    // Without its +, so that a number is found in any form.
    const output = apps.map((app) => app.output()).join('\n');
    for (const { to } of network.log().calls) assert(!output.includes(to.slice(1)), 'a number in the log');
  });

  const own = apps[0]?.url ?? '';
  const url = instances > 1 ? frontDoor.url : own;
  /** Every answer must be as the app's OpenAPI document describes. */
  const fetchChecked = await checkedFetch(own);
  const post = async (path: string, body: unknown, headers: Readonly<Record<string, string>>): Promise<Response> =>
    fetchChecked(`${url}/api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const state = async (path: string, method = 'GET'): Promise<NotificationState> => {
    let response: Response | undefined;
    // Storage on a busy machine may take longer than the service waits.
    await until(async () => {
      response = await fetchChecked(`${url}/api/notifications/${path}`, { method });
      return response.status !== 503;
    }, 'storage answers in time');
    assert.equal(response?.status, 200);
    return notificationAnswer.parse(await response?.json());
  };
  const callsTo = (number: string): readonly CallStory[] => network.log().calls.filter(({ to }) => to === number);

  return {
    acs,
    twilio,
    network,
    apps,
    /** Stands before the instances if there are several. */
    frontDoor,
    url,
    fetch: fetchChecked,
    callsTo,

    /** Sends a notification. @param recipients in a list of lists: in waves @param more headers, and further fields */
    alert: async (
      alertType: string,
      recipients: readonly string[] | readonly (readonly string[])[],
      { headers = {}, ...more }: Readonly<Record<string, unknown>> & Pick<RequestInit, 'headers'> = {},
    ) => {
      const body = { channel: 'phone', alert_type: alertType, recipients, ...more };
      const response = await post('notifications', body, Object.fromEntries(new Headers(headers)));
      return { status: response.status, ...alertAnswerSchema.parse(await response.json()) };
    },

    /** Posts a callback as ACS does, with a valid token unless another authorization is given. */
    callback: async (path: string, body: unknown, authorization?: string | null): Promise<Response> => {
      const bearer = authorization === undefined ? `Bearer ${await acs.signer.sign()}` : authorization;
      return post(path, body, bearer === null ? {} : { authorization: bearer });
    },

    stop: async (id = ''): Promise<NotificationState> => state(`${id}/stop`, 'POST'),

    notification: async (id = ''): Promise<NotificationState> => state(id),

    /** The state of a notification after its end. */
    completed: async (id = ''): Promise<NotificationState> => {
      await until(async () => (await state(id)).status !== 'in_progress', 'the notification is over');
      return state(id);
    },

    /** The only call to a number, after it has ended and all its events were answered. */
    callEnds: async (number: string): Promise<CallStory> => {
      await until(() => callsTo(number).some(isSettled), `the call to ${number} ends`);
      await network.settled();
      const [call, ...more] = callsTo(number);
      assert(call !== undefined && more.length === 0, `${more.length + 1} calls to ${number}, expected 1`);
      return call;
    },

    /** Fails if the provider refused a request or a line is open. */
    endsWell: (): void => {
      const { calls, refused } = network.log();
      const open = calls.filter((call) => call.state !== 'ended');
      assert.deepEqual({ refused, open }, { refused: [], open: [] });
    },
  };
};

/** One stage for all tests of a file or group, which may run at the same time. At its end, no line is open. */
export const sharedStage = (options: StageOptions): (() => Stage) => {
  const ends: (() => unknown)[] = [];
  let stage: Stage | undefined;
  beforeAll(async () => {
    stage = await setStage(options, (end) => void ends.push(end));
  });
  afterAll(async () => {
    await until(
      () => stage?.network.log().calls.every(({ state }) => state === 'ended') === true,
      'all calls are over',
    );
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

const isSettled = ({ state, story }: CallStory): boolean =>
  state === 'ended' &&
  story.some(({ text }) => LAST.has(text)) &&
  story.every((line) => line.kind !== 'event' || line.answer !== undefined);

/** What a callee must hear. */
export const messageOf = (alertType: string, terms: MessageTerms = {}): string => {
  const found = findAlertType(alertType);
  if (found === undefined) throw new Error(`no alert type ${alertType}`);
  return spokenMessage(callMessage(SERVICE_NAME, found, terms));
};
