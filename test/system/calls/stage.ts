import assert from 'node:assert/strict';

import { TableClient } from '@azure/data-tables';
import { inject, onTestFinished, type TestContext } from 'vitest';
import { z } from 'zod';

import { type AcsSimulator, startAcsSimulator } from '../../../infra/local/acs-simulator/simulator.ts';
import type { Pace } from '../../../infra/local/acs-simulator/simulated-call.ts';
import type { CallStory } from '../../../infra/local/acs-simulator/story.ts';
import { findAlertType } from '../../../src/calls/alert-types.ts';
import { spokenMessage } from '../../../src/calls/message.ts';
import { type App, ownTablesPrefix, startApp, testEnvironment } from '../../harness/app.ts';
import { until } from './until.ts';

/** Options of a stage. */
export interface StageOptions {
  /** How many instances of the app share the tables and get every callback; 1 where it is not given. */
  readonly instances?: number;
  /** Further settings of the app. */
  readonly environment?: Readonly<Record<string, string>>;
  /** How long ringing, speaking and so on take in the simulator. */
  readonly pace?: Partial<Pace>;
  /** Where the tables are, if not in this run's Azurite. */
  readonly tablesConnectionString?: string;
}

const SERVICE_NAME = 'Test Watch';

const alertAnswerSchema = z.looseObject({
  calls: z
    .array(
      z.object({
        recipient: z.string(),
        status: z.enum(['placed', 'failed']),
        call_connection_id: z.string().optional(),
        reason: z.string().optional(),
      }),
    )
    .optional(),
});

/** The app and the simulated telephone network of one test. */
export class Stage {
  readonly acs: AcsSimulator;
  readonly apps: readonly App[];
  readonly #calls: TableClient;

  constructor(acs: AcsSimulator, apps: readonly App[], calls: TableClient) {
    this.acs = acs;
    this.apps = apps;
    this.#calls = calls;
  }

  /** The first instance's URL. */
  get url(): string {
    return this.apps[0]?.url ?? '';
  }

  /** Sends a notification and returns the answer. */
  async alert(alertType: string, recipients: readonly string[], headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${this.url}/api/notifications`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ channel: 'phone', alert_type: alertType, recipients }),
    });
    return { status: response.status, ...alertAnswerSchema.parse(await response.json()) };
  }

  /** Posts a callback as ACS would, with a good token unless another authorization is given. */
  async callback(path: string, body: unknown, authorization?: string | null): Promise<Response> {
    const bearer = authorization === undefined ? `Bearer ${await this.acs.signer.sign()}` : authorization;
    return fetch(`${this.url}/api/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(bearer === null ? {} : { authorization: bearer }) },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  /** The calls to a number so far. */
  callsTo(number: string): readonly CallStory[] {
    return this.acs.log().calls.filter((call) => call.to === number);
  }

  /** The only call to a number, after it has ended and all its events were answered. */
  async callEnds(number: string, withinMs?: number): Promise<CallStory> {
    await until(
      () => this.callsTo(number).some((call) => call.state === 'ended'),
      `the call to ${number} ends`,
      withinMs,
    );
    return this.settledCall(number);
  }

  /** The only call to a number, after all its events were answered. */
  async settledCall(number: string): Promise<CallStory> {
    await until(() => this.callsTo(number).some(hasAllEvents), `the events of the call to ${number} are answered`);
    await this.acs.settled();
    const [call, ...more] = this.callsTo(number);
    assert(
      call !== undefined && more.length === 0,
      `${more.length + (call === undefined ? 0 : 1)} calls to ${number}, expected 1`,
    );
    return call;
  }

  /** The record of a call in the table. */
  async record(callId: string): Promise<Record<string, unknown> | undefined> {
    const rows = this.#calls.listEntities({
      queryOptions: { filter: `RowKey eq 'call|${callId}'` },
    });
    for await (const row of rows) return row;
    return undefined;
  }

  /** The rows of requests to place a call. */
  async requestRecords(): Promise<readonly Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    const filter = "RowKey ge 'request|' and RowKey lt 'request}'";
    for await (const row of this.#calls.listEntities({ queryOptions: { filter } })) rows.push(row);
    return rows;
  }

  /** The log lines of all instances about an event. */
  logged(event: string): readonly Record<string, unknown>[] {
    return this.apps.flatMap((app) =>
      app
        .output()
        .split('\n')
        .flatMap((line) => {
          const start = line.indexOf('{"event":');
          return start < 0 ? [] : [z.record(z.string(), z.unknown()).parse(JSON.parse(line.slice(start)))];
        })
        .filter((fields) => fields['event'] === event),
    );
  }

  /**
   * Alerts one number, and waits for the end of the call: the message was spoken once, and the line was hung up once.
   *
   * @param words what the callee must hear; undefined where speaking must fail
   */
  async alertOnce(alertType: string, number: string, words?: string): Promise<CallStory> {
    await this.alert(alertType, [number]);
    const call = await this.callEnds(number);
    assert.deepEqual(call.spoken, words === undefined ? [] : [words]);
    assert.deepEqual(call.requests, { createCall: 1, play: 1, hangUp: 1 });
    return call;
  }

  /** Must hold at the end of every test: ACS refused no request, and no line is open. */
  endsWell(): void {
    const { calls, refused } = this.acs.log();
    assert.deepEqual(refused, [], 'requests that ACS refuses');
    const open = calls.filter((call) => call.state !== 'ended');
    assert.deepEqual(open, [], 'open lines');
  }
}

/**
 * Starts a simulator of ACS and the app, whose callbacks only that simulator can sign. Both are stopped after the test.
 *
 * @param whenOver the test's own `onTestFinished`; needed in concurrent tests
 */
export const setStage = async (
  {
    instances = 1,
    environment = {},
    pace = {},
    tablesConnectionString = inject('tablesConnectionString'),
  }: StageOptions = {},
  whenOver: TestContext['onTestFinished'] = onTestFinished,
): Promise<Stage> => {
  const acs = await startAcsSimulator({ pace });
  whenOver(() => acs.stop());
  const prefix = ownTablesPrefix();
  const apps = await Promise.all(
    Array.from({ length: instances }, () =>
      startApp({
        environment: (url) =>
          testEnvironment({
            SERVICE_NAME,
            TABLES_CONNECTION_STRING: tablesConnectionString,
            TABLES_PREFIX: prefix,
            ACS_CONNECTION_STRING: acs.connectionString,
            ACS_RESOURCE_ID: acs.resourceId,
            ACS_TOKEN_ISSUER: acs.issuer,
            CALLBACK_BASE_URL: url,
            ...environment,
          }),
      }),
    ),
  );
  acs.mirrors.push(...apps.slice(1).map((app) => app.url));
  whenOver(async () => {
    await Promise.all(apps.map((app) => app.stop()));
    // Holds for every test: no log line has a key or an unmasked phone number.
    const output = apps.map((app) => app.output()).join('\n');
    const accessKey = /accesskey=(.+)$/.exec(acs.connectionString)?.[1] ?? '';
    assert(accessKey !== '' && !output.includes(accessKey), 'a key in the log');
    assert.doesNotMatch(output, /AccountKey=|Bearer |eyJ/, 'a key or a token in the log');
    assert.doesNotMatch(output, /\+[1-9]\d{6,14}/, 'a phone number in the log');
    for (const call of acs.log().calls) assert(!output.includes(call.to.slice(1)), 'a phone number in the log');
  });
  const calls = TableClient.fromConnectionString(tablesConnectionString, `${prefix}calls`, {
    allowInsecureConnection: true,
  });
  return new Stage(acs, apps, calls);
};

const hasAllEvents = ({ story }: CallStory): boolean =>
  story.some((line) => /^(CallDisconnected|CreateCallFailed)$/.test(line.text)) &&
  story.every((line) => line.kind !== 'event' || line.answer !== undefined);

/** What a callee must hear. */
export const messageOf = (alertType: string): string => {
  const found = findAlertType(alertType);
  if (found === undefined) throw new Error(`no alert type ${alertType}`);
  return spokenMessage(SERVICE_NAME, found);
};
