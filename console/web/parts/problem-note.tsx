import { Component, type ComponentChildren, type JSX } from 'preact';
import { isAbort, type Problem, toProblem } from '../problem.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface ProblemNoteProps {
  readonly problem: Problem;
  readonly onRetry?: () => void;
  readonly children?: ComponentChildren;
}

export function ProblemNote({ problem, onRetry, children }: ProblemNoteProps): JSX.Element {
  const details = problem.details.filter((detail) => detail !== problem.message);
  return (
    <div class="note failed" role="alert">
      <Icon name="warning" />
      <div>
        <p>{problem.message}</p>
        {details.length > 0 && (
          <ul>
            {details.map((detail) => (
              <li key={detail}>{detail}</li>
            ))}
          </ul>
        )}
        {problem.status >= 500 && problem.requestId !== undefined && (
          <p class="quiet">
            Request id in the server log: <code>{problem.requestId}</code>
          </p>
        )}
        {children}
        {onRetry !== undefined && (
          <Button small onClick={onRetry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  );
}

/** An error boundary: a page that throws is replaced by its problem, and the navigation stays. */
export class Catch extends Component<{ children: ComponentChildren }, { thrown: unknown }> {
  override state = { thrown: undefined as unknown };

  override componentDidCatch(thrown: unknown): void {
    if (!isAbort(thrown)) this.setState({ thrown });
  }

  override render(): ComponentChildren {
    if (this.state.thrown === undefined) return this.props.children;
    return (
      <main class="outside">
        <h1 tabIndex={-1}>This page failed</h1>
        <ProblemNote
          problem={toProblem(this.state.thrown)}
          onRetry={() => this.setState({ thrown: undefined })}
        />
      </main>
    );
  }
}
