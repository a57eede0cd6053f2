// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Marks the methods of delegates, and runs them where other tasks run.
///
/// Child tasks inherit the executor of the method that waits for them, and other tasks that a method starts do not: a task with this
/// executor would wait for itself if it waited for the delegate's turn. Shared by all engines, since the runtime does not retain executors.
///
/// Source: SE-0417, "Task Executor Preference": child tasks inherit the preference, and unstructured tasks do not.
final class DelegateExecutor: TaskExecutor {
    static let shared = DelegateExecutor()

    /// Whether the present task is in a method of a delegate, or is a child task of one.
    static var isOfPresentTask: Bool {
        withUnsafeCurrentTask { $0?.unownedTaskExecutor } == shared.asUnownedTaskExecutor()
    }

    func enqueue(_ job: consuming ExecutorJob) { globalConcurrentExecutor.enqueue(job) }
}
