import { describe, expect, it } from 'vitest';

import { lazily } from '../../src/azure/lazily.ts';
import { AcsPhoneLine, connectToAcs } from '../../src/calls/acs/acs-phone-line.ts';
import { createPhone } from '../../src/calls/phone.ts';
import { CALLS_FORMAT } from '../../src/calls/store/rows.ts';
import { notifications } from '../../src/http/send-notification.ts';
import { testCall } from '../../src/http/test-call.ts';
import { appLog } from '../../src/log.ts';
import { readSettings } from '../../src/settings.ts';
import { azureTable } from '../../src/storage/azure-table.ts';
import { Table } from '../../src/storage/table.ts';
import { ask, problemOf } from './asking.ts';

// The real classes with addresses that do not answer: a request that is refused never reaches them.
const nowhere = 'DefaultEndpointsProtocol=http;AccountName=a;AccountKey=dGVzdA==;TableEndpoint=http://127.0.0.1:9/a';
const credential = { getToken: () => Promise.resolve(null) };
const settings = readSettings({
  SERVICE_NAME: 'Test Watch',
  TABLES_CONNECTION_STRING: nowhere,
  ACS_CONNECTION_STRING: 'endpoint=http://127.0.0.1:9/;accesskey=dGVzdA==',
  ACS_SOURCE_PHONE_NUMBER: '+12065550199',
  ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
  CALLBACK_BASE_URL: 'http://127.0.0.1:9',
});
if (settings.phone === undefined) throw new Error('the phone is off');
const { phone: own, serviceName } = settings;
const table = new Table(azureTable(settings.tables, 'calls', credential), { format: CALLS_FORMAT });
const line = new AcsPhoneLine(
  lazily(() => connectToAcs(own.connection, credential)),
  own,
);
const phone = createPhone({ line, table, serviceName, rules: own, log: appLog });
const handlers = {
  notifications: notifications(phone).handler,
  'test-call': testCall({ ...phone, callbackBaseUrl: undefined }).handler,
};

const post = async (path: keyof typeof handlers, body: unknown, query = '') => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const problem = problemOf(await ask(handlers[path], `/api/${path}${query}`, { method: 'POST', body: text }));
  const errors = [...problem.fields.map((field) => ({ field })), ...problem.indices.map((index) => ({ index }))];
  return { ...problem, errors };
};

const good = { channel: 'phone', alert_type: 'ConfirmedFire', recipients: ['+12065550100'] };

it('an empty wave is told in the words of an empty list', async () => {
  const recipients = [['+12065550100'], []];
  const answer = await ask(handlers.notifications, '/api/notifications', {
    method: 'POST',
    body: JSON.stringify({ ...good, recipients, confirm: true }),
  });
  expect(answer.body).toMatchObject({ errors: [{ index: 1, detail: 'must name at least one phone number' }] });
});

describe('POST /api/notifications refuses, naming it,', () => {
  it.each<[string, unknown, readonly object[]]>([
    ['no channel', { ...good, channel: undefined }, [{ field: 'channel' }]],
    ['another channel', { ...good, channel: 'sms' }, [{ field: 'channel' }]],
    ['no alert type', { ...good, alert_type: undefined }, [{ field: 'alert_type' }]],
    ['an unknown alert type', { ...good, alert_type: 'confirmedfire' }, [{ field: 'alert_type' }]],
    ['an alert type of another kind', { ...good, alert_type: ['Custom'] }, [{ field: 'alert_type' }]],
    ['no recipients', { ...good, recipients: undefined }, [{ field: 'recipients' }]],
    ['recipients that are no list', { ...good, recipients: '+12065550100' }, [{ field: 'recipients' }]],
    ['an empty list', { ...good, recipients: [] }, [{ field: 'recipients' }]],
    ['a wrong number', { ...good, recipients: ['+12065550100', '2065550100'] }, [{ index: 1 }]],
    [
      'several wrong numbers',
      { ...good, recipients: ['x', '+12065550100', 7, null] },
      [{ index: 0 }, { index: 2 }, { index: 3 }],
    ],
    [
      'waves beside numbers',
      { ...good, confirm: true, recipients: [['+12065550100'], '+12065550101'] },
      [{ index: 1 }],
    ],
    ['an empty wave', { ...good, confirm: true, recipients: [['+12065550100'], []] }, [{ index: 1 }]],
    ['a wrong number in a wave', { ...good, confirm: true, recipients: [['+12065550100'], ['x']] }, [{ index: 1 }]],
    ['waves without a confirmation', { ...good, recipients: [['+12065550100']] }, [{ field: 'confirm' }]],
    ['a time between waves without waves', { ...good, confirm: true, wave_seconds: 60 }, [{ field: 'wave_seconds' }]],
    [
      'too little time',
      { ...good, confirm: true, recipients: [['+12065550100']], wave_seconds: 29 },
      [{ field: 'wave_seconds' }],
    ],
    [
      'too much time',
      { ...good, confirm: true, recipients: [['+12065550100']], wave_seconds: 3_601 },
      [{ field: 'wave_seconds' }],
    ],
    ['a confirmation that is no yes or no', { ...good, confirm: 'true' }, [{ field: 'confirm' }]],
    ['an empty reference', { ...good, reference: '' }, [{ field: 'reference' }]],
    ['a reference of white space', { ...good, reference: '  ' }, [{ field: 'reference' }]],
    ['a reference with a line break', { ...good, reference: 'a\nb' }, [{ field: 'reference' }]],
    ['a long reference', { ...good, reference: 'x'.repeat(101) }, [{ field: 'reference' }]],
    ['a misspelt field', { ...good, recipient: '+12065550100' }, [{ field: 'recipient' }]],
    [
      'several things at once',
      { recipients: [] },
      [{ field: 'channel' }, { field: 'alert_type' }, { field: 'recipients' }],
    ],
    ['a list', [good], [{ field: 'body' }]],
    ['null', null, [{ field: 'body' }]],
    ['a text', '"phone"', [{ field: 'body' }]],
  ])('%s', async (_, body, errors) => {
    const problem = await post('notifications', body);
    expect(problem.status).toBe(400);
    expect(problem.errors).toHaveLength(errors.length);
    expect(problem.errors).toMatchObject(errors);
  });

  it('more than 50 recipients, but counts repeated ones once', async () => {
    const numbers = Array.from({ length: 51 }, (_, index) => `+1206555${String(1_000 + index)}`);
    expect(await post('notifications', { ...good, recipients: numbers })).toMatchObject({
      status: 400,
      errors: [{ field: 'recipients' }],
    });
    // Accepted; then no call can be placed, because ACS does not answer.
    const repeated = [...numbers.slice(0, 3), ...Array.from({ length: 60 }, () => ` ${numbers[0]} `)];
    const tooMany = await post('notifications', { ...good, recipients: [...repeated, 'x'] });
    expect(tooMany).toMatchObject({ status: 400, errors: [{ index: 63 }] });
  });

  it('a query parameter, an empty body, no JSON, too much', async () => {
    expect(await post('notifications', good, '?alert_type=Custom')).toMatchObject({
      status: 400,
      errors: [{ field: 'alert_type' }],
    });
    expect(await post('notifications', '')).toMatchObject({ status: 400 });
    expect(await post('notifications', '{')).toMatchObject({ status: 400 });
    expect(await post('notifications', `"${'x'.repeat(70_000)}"`)).toMatchObject({ status: 413 });
  });

  it('without ever repeating a phone number', async () => {
    for (const recipients of [['+12065550100x'], [{ '+12065550100': 1 }]]) {
      const problem = await post('notifications', { ...good, recipients, '+12065550100': 1 });
      expect(JSON.stringify(problem)).not.toContain('2065550100x');
      expect(problem.status).toBe(400);
    }
  });
});

describe('POST /api/test-call refuses, naming it,', () => {
  it.each<[string, unknown, string, object]>([
    ['a wrong number', ['+12065550100', 'x'], '', { index: 1 }],
    ['no list', { recipients: ['+12065550100'] }, '', { field: 'body' }],
    ['an empty list', [], '', { field: 'body' }],
    ['an unknown alert type', ['+12065550100'], '?alert_type=Fire', { field: 'alert_type' }],
    ['an unknown parameter', ['+12065550100'], '?type=Custom', { field: 'type' }],
  ])('%s', async (_, body, query, error) => {
    expect(await post('test-call', body, query)).toMatchObject({ status: 400, errors: [error] });
  });
});
