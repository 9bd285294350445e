import { describe, expect, it } from 'vitest';

import { storageFrom } from '../../infra/local/chosen-storage.ts';

describe('the storage that a command works on', () => {
  const run = { simulatorUrl: undefined, tables: { TABLES_CONNECTION_STRING: emulator('3'), TABLES_PREFIX: 'run' } };
  const given = (file: string): Record<string, string> => ({ TABLES_CONNECTION_STRING: emulator(file) });

  it('is the one that the environment names, else the settings file, else the local run', () => {
    expect(storageFrom(given('1'), given('2'), 7071, run).connection).toEqual({ connectionString: emulator('1') });
    expect(storageFrom({}, given('2'), 7071, run).connection).toEqual({ connectionString: emulator('2') });
    expect(storageFrom({}, {}, 7071, run)).toEqual({
      connection: { connectionString: emulator('3') },
      prefix: 'run',
    });
  });

  it('is that of the local run, not the emulator that a settings file names for func start', () => {
    const file = { TABLES_CONNECTION_STRING: 'UseDevelopmentStorage=true' };
    expect(storageFrom({}, file, 7071, run).connection).toEqual({ connectionString: emulator('3') });
    expect(storageFrom({}, file, 7071, undefined).connection).toEqual({
      connectionString: 'UseDevelopmentStorage=true',
    });
  });

  it('must be named by exactly one valid setting', () => {
    const endpoint = 'https://account.table.core.windows.net';
    expect(storageFrom({ TABLES_ENDPOINT: endpoint }, given('2'), 7071, run).connection).toEqual({ endpoint });
    expect(() => storageFrom({ TABLES_ENDPOINT: endpoint, ...given('1') }, {}, 7071, run)).toThrow(
      'TABLES_ENDPOINT cannot be set together with TABLES_CONNECTION_STRING',
    );
    expect(() => storageFrom({ TABLES_CONNECTION_STRING: 'secret' }, {}, 7071, run)).toThrow(
      /^TABLES_CONNECTION_STRING is not a storage connection string/,
    );
    expect(() => storageFrom({}, {}, 7071, undefined)).toThrow('There is no local run on port 7071');
    expect(() => storageFrom({}, {}, 7071, { simulatorUrl: undefined, tables: undefined })).toThrow(
      'The local run on port 7071 uses a storage that is named in its environment.',
    );
  });
});

function emulator(port: string): string {
  return `AccountName=a;AccountKey=YQ==;TableEndpoint=http://127.0.0.1:${port}/a`;
}
