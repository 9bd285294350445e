import type { ButtonHTMLAttributes, RefObject } from 'preact';

interface ButtonProps extends Omit<ButtonHTMLAttributes, 'class'> {
  /** Classes of `controls.css`: `small`, `primary`, `stop`, `blocked`. */
  readonly look?: string;
  readonly ref?: RefObject<HTMLButtonElement | null>;
}

export const Button = ({ look = '', ...rest }: ButtonProps) => (
  <button type="button" class={`button ${look}`} {...rest} />
);
