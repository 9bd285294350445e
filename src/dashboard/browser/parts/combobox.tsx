import type { ComponentChildren } from 'preact';
import { useId, useMemo, useRef, useState } from 'preact/hooks';

import { textFilter } from '../../../text-filter.ts';

interface ComboboxProps {
  readonly id: string;
  readonly label: string;
  readonly placeholder: string;
  /** The chosen option; typed text stays until this changes or the focus leaves. */
  readonly value: string;
  readonly options: readonly string[];
  /** The state of an option. */
  readonly noteOf: (option: string) => ComponentChildren;
  /** An empty text: none. The reader may also choose a text that is not an option. */
  readonly onChoose: (option: string) => void;
}

/** More options are slow to draw. Typing narrows them. */
const MOST_OPTIONS = 50;

/** A field that searches many options, as the ARIA pattern "combobox with a list" says. */
export const Combobox = ({ id, label, placeholder, value, options, noteOf, onChoose }: ComboboxProps) => {
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState<string>();
  const [active, setActive] = useState(-1);
  const isOpen = typed !== undefined;
  const found = useMemo(() => {
    if (!isOpen) return [];
    const text = typed.trim();
    return text === '' || text === value ? options : options.filter(textFilter(text));
  }, [isOpen, typed, value, options]);
  const listed = found.slice(0, MOST_OPTIONS);
  const close = (): void => {
    setTyped(undefined);
    setActive(-1);
  };
  const choose = (option: string): void => {
    close();
    if (input.current !== null) input.current.value = option;
    if (option === value) return;
    onChoose(option);
    // The field is a new one.
    document.getElementById(id)?.focus();
  };
  const move = (by: number): void => {
    if (!isOpen) return setTyped(input.current?.value ?? '');
    const next = (active + by + listed.length) % Math.max(listed.length, 1);
    setActive(next);
    document.getElementById(`${listId}-${next}`)?.scrollIntoView({ block: 'nearest' });
  };
  const press = (event: KeyboardEvent): void => {
    const { key } = event;
    if (key === 'ArrowDown' || key === 'ArrowUp') move(key === 'ArrowDown' ? 1 : active < 0 ? 0 : -1);
    else if (key === 'Enter') choose(listed[active] ?? input.current?.value.trim() ?? '');
    else if (key === 'Escape' && (isOpen || input.current?.value !== value)) {
      if (input.current !== null) input.current.value = value;
      close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="combobox">
      <input
        key={value}
        id={id}
        ref={input}
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={active < 0 ? undefined : `${listId}-${active}`}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        maxLength={128}
        placeholder={placeholder}
        defaultValue={value}
        onInput={({ currentTarget }) => {
          setTyped(currentTarget.value);
          setActive(-1);
        }}
        onClick={({ currentTarget }) => {
          currentTarget.select();
          setTyped(currentTarget.value);
        }}
        onKeyDown={press}
        onBlur={close}
      />
      <ul id={listId} role="listbox" aria-label={label} hidden={!isOpen}>
        {listed.map((option, index) => (
          <li
            key={option}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === active}
            // The field keeps the focus.
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => choose(option)}
          >
            <bdi>{option}</bdi> <span class="note">{noteOf(option)}</span>
          </li>
        ))}
        {found.length > listed.length ? (
          <li class="note" role="presentation">
            {found.length - listed.length} more: type a part of the name
          </li>
        ) : null}
      </ul>
    </div>
  );
};
