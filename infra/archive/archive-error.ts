import { CommandError } from '../command-line.ts';

/** Why a day was not exported or imported, as a sentence for the person at the command line. */
export class ArchiveError extends CommandError {
  override readonly name = 'ArchiveError';
}
