import { isDay } from '../../../src/analytics/model/day.ts';
import { instantFromMilliseconds } from '../../../src/analytics/model/instant.ts';
import { Recorder } from '../../../src/analytics/record/recorder.ts';
import { Days } from '../../../src/analytics/rows/days.ts';
import { FORMAT } from '../../../src/analytics/rows/format.ts';
import { lazyCredential } from '../../../src/azure/credential.ts';
import { parseCameraEvent } from '../../../src/http/event-message.ts';
import { fieldOf } from '../../../src/http/route/faults.ts';
import type { Settings } from '../../../src/settings.ts';
import { azureTable } from '../../../src/storage/azure-table.ts';
import { Table } from '../../../src/storage/table.ts';
import type { Destination } from './destination.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const DEADLINE_MS = 30_000;

/** A table, which is created if it is missing. An app may use it at the same time. */
export const intoTable = (storage: Settings['tables']): Destination => {
  const table = new Table(azureTable(storage, 'analytics', lazyCredential()), {
    format: FORMAT,
    deadlineMs: DEADLINE_MS,
  });
  const recorders = new Map<number, Recorder>();
  const recorderOf = (shards: number): Recorder => {
    const recorder = recorders.get(shards) ?? new Recorder(table, new Days(table, shards, SILENT), SILENT);
    recorders.set(shards, recorder);
    return recorder;
  };
  const { connection, prefix } = storage;
  const account =
    'endpoint' in connection ? connection.endpoint : connection.connectionString.replace(/(Key|Signature)=[^;]*/gi, '');
  return {
    name: `${account} ${prefix}analytics`,

    take: async (events, shards) => {
      const now = instantFromMilliseconds(Date.now());
      const wrong: string[] = [];
      const messages = events.flatMap((text) => {
        const parsed = parseCameraEvent(JSON.parse(text), now);
        if ('message' in parsed) return parsed.message;
        wrong.push(parsed.faults.map(({ path, detail }) => `${fieldOf(path)} ${detail}`.trim()).join('; '));
        return [];
      });
      const outcomes = await recorderOf(shards).record(messages);
      return [...wrong, ...outcomes.flatMap((outcome) => (typeof outcome === 'object' ? outcome.refused : []))];
    },

    audit: async (day) => {
      if (!isDay(day)) return { isRight: false, text: 'is no day' };
      return { isRight: true, text: 'sent; run npm run audit' };
    },
  };
};
