import { type Trouble, troubleText } from '../model/refresh.ts';

/** Why a part of the page is not as new as it could be, or is empty. That nothing answers at all is said once, at the top. */
export const TroubleNote = ({ trouble }: { readonly trouble: Trouble | undefined }) =>
  trouble === undefined || trouble.kind === 'unreachable' ? null : <p class="trouble">{troubleText(trouble)}</p>;
