# Completion of penstock's commands, options, keys and names for Fish. It is written by: penstock completion fish

function __penstock_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    # A path after a key or an option and = is completed for itself.
    set -l begun (string match -r '^.*=' -- $word)
    set -l path (string replace -r '^.*=' '' -- $word)
    for answer in ($words[1] __complete $words[2..-1] "$word" 2>/dev/null)
        switch $answer
            case :files
                for file in (__fish_complete_path "$path")
                    echo -- "$begun$file"
                end
            case :folders
                for folder in (__fish_complete_directories "$path")
                    echo -- "$begun$folder"
                end
            case '*'
                echo -- $answer
        end
    end
end

complete -c penstock -f -a '(__penstock_complete)'
